"""One speed step, or one plain timing, in a fresh process: what bench/accuracy.py compares.

    python bench/accuracy_runs.py --one 01_vector_add kernel.py
    python bench/accuracy_runs.py --course tests/courses/bounds --plain 03_product
    python bench/accuracy_runs.py --course tests/courses/bounds --reference 03_product

Prints one line of JSON. Needs a CUDA GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.course import catalog
from grader.course.exercise import Exercise

ROOT = Path(__file__).parents[1]
ROUNDS = 5  # of every slot, by plain events
# Seconds between rounds of the matrix product, as beside a kernel whose inputs the judge writes.
# Without them an H100 lowers its clock: 704 TFLOP/s in bfloat16 in place of 793.
REST_S = 0.3


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--course", type=Path, default=ROOT)
    what = options.add_mutually_exclusive_group(required=True)
    what.add_argument("--one", nargs=2, metavar=("EXERCISE", "KERNEL"), help="its speed step")
    what.add_argument("--plain", metavar="EXERCISE", help="its solution, by plain events")
    what.add_argument("--reference", metavar="EXERCISE", help="the bound's reference, by them")
    options.add_argument("--place", type=int, default=0, help="the scored size for --plain")
    asked = options.parse_args(argv)
    if asked.one:
        found = speed_step(catalog.find_entry(asked.course, asked.one[0]), Path(asked.one[1]))
    elif asked.plain:
        found = plain_events(catalog.find_entry(asked.course, asked.plain), asked.place)
    else:
        found = plain_reference(catalog.find_entry(asked.course, asked.reference))
    print(json.dumps(found))
    return 0


# --- in a fresh process ---------------------------------------------------------------------------


def speed_step(exercise: Exercise, kernel: Path) -> dict[str, Any]:
    """The speed step alone, of one kernel file: the same code, in the same kind of process."""
    from grader.grading.options import Options
    from grader.grading.recording import run
    from grader.grading.session import Grading
    from grader.grading.step import Finding
    from grader.grading.steps import every
    from grader.grading.steps.speed import measure
    from grader.machine import processes
    from grader.machine.versions import environment
    from grader.model.outcomes import Outcome
    from grader.sandbox.fork_servers import ForkServers
    from grader.sandbox.worker_link import KernelFailure

    processes.raise_priority()
    fork_servers = ForkServers()
    fork_servers.fork_server(exercise.spec.backend, "cuda")
    fork_servers.fork_server("triton", "cuda", reference=True)
    grading = Grading(exercise, kernel, Options(seed=1, device="cuda"), fork_servers)
    grading.executor.load()  # as the steps before have: what follows is no start-up
    for name in ("traffic", "memory"):  # their figures only explain the speed
        run(grading, replace(every()[name], run=lambda _: Finding("")))
    began = time.monotonic()
    try:
        found = measure.measure(grading)
    except KernelFailure as error:
        found = Finding("", error.failure, Outcome.FAIL)
    duration_s = time.monotonic() - began
    grading.close()
    fork_servers.close()
    return {
        "outcome": found.outcome.value,
        "failure": found.failure and found.failure.kind,
        "message": found.failure and found.failure.message,
        "duration_s": round(duration_s, 3),
        "speed": found.speed and found.speed.model_dump(),
        "environment": environment("cuda").model_dump(),
    }


def plain_events(exercise: Exercise, place: int) -> dict[str, Any]:
    """The model solution at one of its sizes, in this process, alone on the GPU."""
    return timed_by_events(exercise, exercise.solution, place)


def plain_reference(exercise: Exercise) -> dict[str, Any]:
    """Time in this process what the exercise's speed is compared with; seconds are of one call."""
    return REFERENCES[exercise.spec.scored.bound](exercise)


def plain_product(exercise: Exercise) -> dict[str, Any]:
    from grader.backends.triton import reference_kernels
    from grader.speed.bounds.arithmetic import EDGES

    dtype = exercise.spec.scored.dtype
    product, edge = getattr(reference_kernels, f"product_{dtype}"), EDGES[dtype]

    def rested() -> list[list[Any]]:
        time.sleep(REST_S)
        return [[edge]] * 16

    return {"seconds": by_events(rested, product), "work": 2 * edge**3}


def plain_implementation(exercise: Exercise) -> dict[str, Any]:
    from grader.speed.torch_compile import compiled

    scored = exercise.spec.scored
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reference.py"
        text = scored.against.read_text()
        file.write_text(text + compiled(exercise.spec) if scored.compiled else text)
        return timed_by_events(exercise, file) | {"work": 1}


def plain_launch(exercise: Exercise) -> dict[str, Any]:
    import torch

    from grader import backends
    from grader.speed.bounds.latency import CALLS, ELEMENTS

    name = exercise.spec.backend
    trial = backends.find(name).trial
    launch = getattr(loaded(backends.folder(name) / trial.file), trial.entry)
    vectors = [as_arguments_of(name, torch.zeros(ELEMENTS, device="cuda")) for _ in range(3)]
    return {"seconds": by_events(lambda: [vectors] * CALLS, launch, queued=True), "work": 1}


REFERENCES = {
    "arithmetic": plain_product,
    "reference": plain_implementation,
    "latency": plain_launch,
}


def timed_by_events(exercise: Exercise, file: Path, place: int = 0) -> dict[str, Any]:
    from grader.grading.options import Options
    from grader.grading.session import Grading
    from grader.model.messages import TensorRef
    from grader.sandbox.arena import CudaArena, view
    from grader.sandbox.fork_servers import ForkServers
    from grader.speed.bounds import bound_of
    from grader.speed.scored_case import arena_bytes, scored_case
    from grader.speed.slots import Slots

    spec = exercise.spec.scored_specs[place]
    entry = getattr(loaded(file), spec.entry)
    sizing = Grading(exercise, file, Options(device="cuda"), ForkServers()).sizing_of(spec)
    memory = CudaArena(arena_bytes(spec, sizing.rows, sizing.calls)).memory
    case = scored_case(spec, sizing.rows)
    slots = Slots(spec, case, sizing.calls, memory)

    def argument(given: Any) -> Any:
        if not isinstance(given, TensorRef):
            return given
        return as_arguments_of(spec.backend, view(memory, given))

    def calls() -> list[list[Any]]:
        return [[argument(each) for each in call] for call in slots.refill()[0]]

    seconds = by_events(calls, entry, queued=spec.scored.bound == "latency")
    return {
        "case": case.headline,
        "seconds": seconds,
        "gbps": slots.least_bytes / seconds / 1e9,
        "work": bound_of(spec).work(slots),
    }


def by_events(
    calls: Callable[[], list[list[Any]]], call: Callable[..., Any], *, queued: bool = False
) -> float:
    """Return the median seconds of a call.

    With `queued`, one event ends a call and begins the next, as in a worker: where the GPU waits
    for the host, making the events is a part of what a call takes.
    """
    import torch

    def mark() -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    times: list[float] = []
    for number in range(ROUNDS + 1):
        arguments = calls()
        torch.cuda.synchronize()
        marks, begin = [], mark()
        for given in arguments:
            begin = begin if queued else mark()
            call(*given)
            end = mark()
            marks.append((begin, end))
            begin = end
        torch.cuda.synchronize()
        if number:  # the first compiles
            times += [b.elapsed_time(e) / 1e3 for b, e in marks]
    # The median, for the first call of a round also shows how long the host took to launch it.
    return statistics.median(times)


def loaded(file: Path) -> ModuleType:
    description = importlib.util.spec_from_file_location("timed", file)
    assert description is not None
    assert description.loader is not None
    module = importlib.util.module_from_spec(description)
    description.loader.exec_module(module)
    return module


def as_arguments_of(backend: str, tensor: Any) -> Any:
    """Return a tensor as kernels of this backend take it."""
    if backend != "numba":
        return tensor
    from numba import cuda

    return cuda.as_cuda_array(tensor)


# --- from outside ---------------------------------------------------------------------------------


class Ended(Exception):
    """A fresh process ended without an answer."""


def fresh(*arguments: str) -> dict[str, Any]:
    """Return what this script prints when it is started anew with these arguments.

    Raises Ended when it ends without.
    """
    done = subprocess.run(
        [sys.executable, __file__, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Ended(f"{' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    speed = found.get("speed")
    told = f" {found['outcome']}, share {speed['share']:.4f}" if speed else ""
    print(f"  {' '.join(arguments)}{told}", file=sys.stderr, flush=True)
    return found


def graded(exercise: str, kernel: Path, course: Path = ROOT) -> dict[str, Any]:
    return fresh("--course", str(course), "--one", exercise, str(kernel))


def graded_text(exercise: str, text: str, course: Path = ROOT) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        kernel = Path(folder) / "kernel.py"
        kernel.write_text(text)
        return graded(exercise, kernel, course)


if __name__ == "__main__":
    sys.exit(main())
