"""How fast the simulated GPU executes kernels, beside the interpreter that it replaced.

    python bench/simulator.py --before ../older --out bench/results/simulator_cpu.json

`--before` is a checkout of an older commit with a `.venv` of its own; without it, only this one is
measured. In each checkout this script has the course's own machinery call the model solutions on
one large case, after a small one that compiles the kernel. Its figure is the programs of the launch
times the elements of a program, for each second of processor that worker and device take in the
call: other load on the machine changes that little. It also counts the lines of the simulator that
are neither blank nor comments, and the private names of Triton that the simulator relies on, each
of which a test of the contract compares with the installed Triton.
Exit code 0 means that each kernel is at least 50 times as fast as before.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from host import machine

LEAST = 50.0  # times as fast as before: the target of the rebuild
SHAPES = {"01_vector_add": (1 << 20,), "04_online_softmax": (1024, 1024)}
SMALL = {1: (1024,), 2: (1, 1024)}
# What executes Triton's kernels without a GPU, before the simulated GPU and since.
SOURCES = ("simulator", "device", "driver", "simulated.py")
CALL_S = 1800.0  # an interpreter may take minutes on a busy machine


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--before", type=Path, help="a checkout of an older commit")
    options.add_argument("--rounds", type=int, default=5, help="calls of each kernel here")
    options.add_argument("--out", type=Path, help="write the figures here, as JSON")
    options.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = options.parse_args(argv)
    if asked.measure:
        print(json.dumps(measured(asked.rounds)))
        return 0
    record: dict[str, Any] = {
        "benchmark": "simulator",
        "machine": machine() | {"load_average_before": os.getloadavg()[0]},
        "after": measured_in(Path.cwd(), Path(sys.executable), asked.rounds),
    }
    show("after", record["after"])
    ratios: dict[str, float] = {}
    if asked.before:
        python = asked.before / ".venv" / "bin" / "python"
        record["before"] = measured_in(asked.before, python, 1)
        show("before", record["before"])
        ratios = {name: speed(record, "after", name) / speed(record, "before", name)
                  for name in SHAPES}  # fmt: skip
        record["times_as_fast"] = {name: round(ratio, 1) for name, ratio in ratios.items()}
        print(*(f"{name}: {ratio:.0f} times as fast" for name, ratio in ratios.items()), sep="\n")
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if all(ratio >= LEAST for ratio in ratios.values()) else 1


def speed(record: dict[str, Any], when: str, name: str) -> float:
    return float(record[when]["kernels"][name]["elements_per_s"])


def show(when: str, figures: dict[str, Any]) -> None:
    print(f"{when} ({figures['commit']}): {figures['lines']} lines of code, private names:")
    print(f"  {figures['touchpoints']}")
    for name, one in figures["kernels"].items():
        print(f"  {name} {one['shape']}: {one['elements_per_s']:.3g} elements/s "
              f"({one['processor_s']:.3f} s of processor)", flush=True)  # fmt: skip


def measured_in(checkout: Path, python: Path, rounds: int) -> dict[str, Any]:
    command = [python, Path(__file__).resolve(), "--measure", "--rounds", str(rounds)]
    done = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, text=True, check=True)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=checkout, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    figures: dict[str, Any] = json.loads(done.stdout)
    return {"commit": commit.stdout.strip()} | figures


# -- in the checkout that is measured, whose `grader` this Python imports


def measured(rounds: int) -> dict[str, Any]:
    kernels = {name: one_kernel(name, shape, rounds) for name, shape in SHAPES.items()}
    return {"lines": lines_of_code(), "touchpoints": touchpoints(), "kernels": kernels}


def one_kernel(name: str, shape: tuple[int, ...], rounds: int) -> dict[str, Any]:
    from grader.course import catalog
    from grader.model import Case, Limits
    from grader.sandbox import ForkServer, HostArena, RemoteKernel, WorkerLink, entry_of

    exercise = catalog.find(catalog.find_root(Path.cwd()), name)
    spec, kernel = exercise.spec, exercise.solution.read_bytes()
    entry = replace(entry_of(spec), limits=Limits(call_s=CALL_S, check_s=2 * CALL_S))
    with contextlib.closing(ForkServer("triton", "cpu")) as fork_server:
        fork_server.start()
        with contextlib.closing(HostArena(64 << 20)) as arena:
            link = WorkerLink(entry, kernel, fork_server, arena)
            remote = RemoteKernel(spec, link, arena)
            remote.run(remote.inputs(Case(SMALL[len(shape)], "float32")))
            seconds = []
            for seed in range(rounds):
                inputs = remote.inputs(Case(shape, "float32", seed=seed))
                began = processor_s()
                outputs = remote.run(inputs)
                seconds.append(processor_s() - began)
                expected = spec.reference(inputs)
                for each, tensor in outputs.items():
                    difference = (tensor.double() - expected[each].double()).abs().max()
                    assert difference < 1e-5, f"{name} is wrong: {difference}"
            link.close()
    elements, took = 1 << 20, statistics.median(seconds)
    return {
        "shape": shape,
        "processor_s": took,
        "rounds": seconds,
        "elements_per_s": elements / took,
    }


def processor_s() -> float:
    """Return the seconds of processor that the processes below this one have taken."""
    return sum(map(of_process, descendants(os.getpid()))) / 1e9


def of_process(pid: int) -> int:
    """Return nanoseconds of all threads of a process; 0 when it has gone."""
    took = 0
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            took += int((thread / "schedstat").read_text().split()[0])
    return took


def descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))


def lines_of_code() -> int:
    """Count lines of the simulator that are neither blank nor comments; docstrings count."""
    folder = Path("grader", "backends", "triton")
    files = [path for name in SOURCES for path in ((folder / name).rglob("*.py"), [folder / name])]
    lines = (
        line.strip()
        for path in {path for some in files for path in some if path.is_file()}
        for line in path.read_text(encoding="utf-8").splitlines()
    )
    return sum(1 for line in lines if line and not line.startswith("#"))


def touchpoints() -> dict[str, int]:
    """Count the private names of each library on which Triton's simulation relies."""
    from grader.backends.triton import contract

    counts = {}
    for name in ("SIMULATED", "DRIVER", "DRIVER_OF_TORCH"):
        if hasattr(contract, name):
            library = getattr(contract, name)
            package = library.package.name
            counts[package] = counts.get(package, 0) + len(library.touchpoints)
    return counts


if __name__ == "__main__":
    sys.exit(main())
