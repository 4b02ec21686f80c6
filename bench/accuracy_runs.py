"""One speed step, or one plain timing, in a fresh process: what bench/accuracy.py compares.

    python bench/accuracy_runs.py --one 01_vector_add kernel.py
    python bench/accuracy_runs.py --plain 01_vector_add
    python bench/accuracy_runs.py --course tests/courses/bounds --bound 03_product

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from grader.course import catalog
from grader.course.exercise import Exercise

if TYPE_CHECKING:
    from grader.model import Spec

ROOT = Path(__file__).parents[1]
ROUNDS = 5  # of every slot, by plain events, at least
# Seconds between rounds of the matrix product, as beside a kernel whose inputs the judge writes.
# Without them an H100 lowers its clock: 704 TFLOP/s in bfloat16 in place of 793.
REST_S = 0.3


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--course", type=Path, default=ROOT)
    what = options.add_mutually_exclusive_group(required=True)
    what.add_argument("--one", nargs=2, metavar=("EXERCISE", "KERNEL"), help="its speed step")
    what.add_argument("--plain", metavar="EXERCISE", help="its solution, by plain events")
    what.add_argument(
        "--bound", metavar="EXERCISE", help="its solution in turn with its bound's reference"
    )
    options.add_argument("--place", type=int, default=0, help="which of several scored sizes")
    options.add_argument(
        "--sized", type=int, nargs=2, metavar=("ROWS", "CALLS"), help="as --one has printed it"
    )
    asked = options.parse_args(argv)
    if asked.one:
        found = speed_step(catalog.find_entry(asked.course, asked.one[0]), Path(asked.one[1]))
    else:
        exercise = catalog.find_entry(asked.course, asked.plain or asked.bound)
        timed = plain_events if asked.plain else share_by_events
        found = timed(ScoredCalls(exercise, exercise.spec.scored_specs[asked.place], asked.sized))
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
    sizings = [grading.sizing_of(spec) for spec in exercise.spec.scored_specs]
    grading.close()
    fork_servers.close()
    return {
        "outcome": found.outcome.value,
        "failure": found.failure and found.failure.kind,
        "message": found.failure and found.failure.message,
        "duration_s": round(duration_s, 3),
        "sized": [[sizing.rows, sizing.calls] for sizing in sizings],
        "speed": found.speed and found.speed.model_dump(),
        "environment": environment("cuda").model_dump(),
    }


@dataclass(frozen=True)
class Timed:
    """A function, the arguments of a round of its calls, and the work that a call counts for."""

    call: Callable[..., Any]
    arguments_of_round: Callable[[], list[list[Any]]]
    work: float


def plain_events(scored: ScoredCalls) -> dict[str, Any]:
    """Time the model solution in this process, alone on the GPU."""
    from grader.speed.bounds import bound_of

    timed, queued = scored.of(scored.exercise.solution), bound_of(scored.spec).by_host
    seconds_by_events(timed, queued=queued)  # the first round compiles
    # The median, for the first call of a round also shows how long the host took to launch it.
    seconds = statistics.median(
        each for _ in range(ROUNDS) for each in seconds_by_events(timed, queued=queued)
    )
    return {"seconds": seconds, "gbps": scored.slots.least_bytes / seconds / 1e9}


def share_by_events(scored: ScoredCalls) -> dict[str, Any]:
    """Time the model solution in turn with what its speed is compared with, in this process.

    Two processes would compare two cores where the host takes the time. Rates are in the bound's
    unit.
    """
    from grader.speed.bounds import bound_of

    bound, exercise = bound_of(scored.spec), scored.exercise
    pair = (scored.of(exercise.solution), REFERENCES[bound.name](exercise, scored))

    def rates() -> list[float]:
        times = [seconds_by_events(timed, queued=bound.by_host) for timed in pair]
        return [timed.work / statistics.median(t) for timed, t in zip(pair, times, strict=True)]

    rates()  # the first round compiles
    found = [rates() for _ in range(max(ROUNDS, bound.cycles))]
    return {
        "rate": statistics.median(rate for rate, _ in found) / bound.scale,
        "reference_rate": statistics.median(reference for _, reference in found) / bound.scale,
        "share": statistics.median(rate / reference for rate, reference in found),
    }


def product(exercise: Exercise, _: ScoredCalls) -> Timed:
    from grader.backends.triton import reference_kernels
    from grader.speed.bounds.arithmetic import EDGES

    dtype = exercise.spec.scored.dtype
    edge = EDGES[dtype]

    def rested() -> list[list[Any]]:
        time.sleep(REST_S)
        return [[edge]] * 16

    return Timed(getattr(reference_kernels, f"product_{dtype}"), rested, 2 * edge**3)


def implementation(exercise: Exercise, scored_calls: ScoredCalls) -> Timed:
    """Return the calls of another implementation, on the kernel's own slots as in the judge."""
    from grader.speed.torch_compile import compiled

    scored = exercise.spec.scored
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reference.py"
        text = scored.against.read_text()
        file.write_text(text + compiled(exercise.spec) if scored.compiled else text)
        return scored_calls.of(file)


def small_launch(exercise: Exercise, _: ScoredCalls) -> Timed:
    import torch

    from grader import backends
    from grader.speed.bounds.latency import CALLS, ELEMENTS

    name = exercise.spec.backend
    trial = backends.find(name).trial
    launch = getattr(loaded(backends.folder(name) / trial.file), trial.entry)
    vectors = [as_arguments_of(name, torch.zeros(ELEMENTS, device="cuda")) for _ in range(3)]
    return Timed(launch, lambda: [vectors] * CALLS, 1.0)


REFERENCES = {"arithmetic": product, "reference": implementation, "latency": small_launch}


class ScoredCalls:
    """The scored case of a spec in memory of this process; a round fills all its slots anew.

    `sized` are the rows and the calls of a round. Without them this process chooses, and may choose
    otherwise than the one whose figures it is compared with.
    """

    def __init__(self, exercise: Exercise, spec: Spec, sized: Sequence[int] | None) -> None:
        from grader.grading.options import Options
        from grader.grading.session import Grading
        from grader.sandbox.arena import CudaArena
        from grader.sandbox.fork_servers import ForkServers
        from grader.speed.scored_case import arena_bytes, scored_case
        from grader.speed.sizing import Sizing
        from grader.speed.slots import Slots

        grading = Grading(exercise, exercise.solution, Options(device="cuda"), ForkServers())
        sizing = Sizing(*sized) if sized else grading.sizing_of(spec)
        self.exercise, self.spec = exercise, spec
        self.memory = CudaArena(arena_bytes(spec, sizing.rows, sizing.calls)).memory
        self.slots = Slots(spec, scored_case(spec, sizing.rows), sizing.calls, self.memory)

    def of(self, file: Path) -> Timed:
        """Return the calls of a file's entry."""
        from grader.speed.bounds import bound_of

        call = getattr(loaded(file), self.spec.entry)
        return Timed(call, self._arguments, bound_of(self.spec).work(self.slots))

    def _arguments(self) -> list[list[Any]]:
        return [[self._argument(each) for each in call] for call in self.slots.refill()[0]]

    def _argument(self, given: Any) -> Any:
        from grader.model.messages import TensorRef
        from grader.sandbox.arena import view

        if not isinstance(given, TensorRef):
            return given
        return as_arguments_of(self.spec.backend, view(self.memory, given))


def seconds_by_events(timed: Timed, *, queued: bool = False) -> list[float]:
    """Return the seconds of each call of a round.

    With `queued`, one event ends a call and begins the next, as in a worker: where the GPU waits
    for the host, making the events is a part of what a call takes.
    """
    import torch

    def mark() -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    arguments = timed.arguments_of_round()
    torch.cuda.synchronize()
    marks, begin = [], mark()
    for given in arguments:
        begin = begin if queued else mark()
        timed.call(*given)
        end = mark()
        marks.append((begin, end))
        begin = end
    torch.cuda.synchronize()
    return [first.elapsed_time(last) / 1e3 for first, last in marks]


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


def by_events(
    what: str, exercise: str, step: Mapping[str, Any], course: Path = ROOT, place: int = 0
) -> dict[str, Any]:
    """Return what plain events say, `plain` or `bound`, at the size at which the step timed it."""
    sized = map(str, step["sized"][place])
    return fresh(
        *("--course", str(course), f"--{what}", exercise),
        *("--place", str(place), "--sized", *sized),
    )


def graded_text(exercise: str, text: str, course: Path = ROOT) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        kernel = Path(folder) / "kernel.py"
        kernel.write_text(text)
        return graded(exercise, kernel, course)


if __name__ == "__main__":
    sys.exit(main())
