"""Where the seconds of `grader check NAME --solution` go, and how much memory it takes.

    python bench/check_latency.py --rounds 3 --out bench/results/check_latency_cpu.json

Each check is the real command, run in a process of its own that stamps the clock when the judge is
started, when its result arrives and when it has ended. With several rounds, the check with the
median total is kept of each exercise; one that fails in any round fails the benchmark. Resident
memory is what judge and worker hold together, sampled ten times a second; a page that both hold
counts once (PSS, the "proportional set size" of proc(5)). `grader list` and `grader --help` are run
five times.
A person runs this on a machine that does nothing else; no test depends on it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from host import machine

from grader.course import catalog

QUICK_RUNS = 5
SAMPLE_S = 0.1
STEPS = ("load", "correctness", "properties", "traffic", "memory", "compile", "speed")


@dataclass(frozen=True)
class Check:
    """Seconds of one check, in the order in which they pass; together they are `total_s`.

    `steps_s` holds the verdict's steps: `load` includes what is left of the worker's imports, which
    run beside the judge's. `between_s` is pytest and Hypothesis around the steps.
    """

    exercise: str
    status: str
    cli_start_s: float
    judge_start_s: float
    steps_s: dict[str, float]
    between_s: float
    shutdown_s: float
    cli_end_s: float
    total_s: float
    peak_mib: float


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", help="exercises; without any, all of them")
    options.add_argument("--rounds", type=int, default=1, help="of which the median check counts")
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--out", type=Path, help="write the figures here, as JSON")
    options.add_argument("--stamped", metavar="FD", type=int, help=argparse.SUPPRESS)
    asked = options.parse_args(argv)
    if asked.stamped is not None:
        return stamped_check(asked.names[0], asked.device, asked.stamped)

    root = catalog.find_root(Path(__file__).parent)
    os.chdir(root)
    exercises = [catalog.find(root, name) for name in asked.names] or catalog.exercises(root)
    load_before = os.getloadavg()[0]
    quick = {f"grader {word}": quick_command(word) for word in ("--help", "list")}
    backends = sorted({exercise.whole_spec.backend for exercise in exercises})
    imports = {backend: worker_imports(backend, asked.device) for backend in backends}
    rounds, environment = [], {}
    for number in range(asked.rounds):
        rounds.append([])
        print(f"round {number + 1} of {asked.rounds}\n{HEADER}")
        for exercise in exercises:
            done, environment = timed_check(exercise.name, asked.device)
            rounds[-1].append(done)
            print(row(done), flush=True)
    checks = [median_check(several) for several in zip(*rounds, strict=True)]
    for name, times in quick.items():
        print(f"{name}: {statistics.median(times):.2f} s (median of {len(times)})")
    for backend, seconds in imports.items():
        print(f"imports of a {backend} worker, alone on the machine: {seconds:.2f} s")
    if asked.out:
        record = {
            "benchmark": "check_latency",
            "machine": machine() | {"load_average_before": load_before},
            "environment": environment,
            "quick_commands_s": quick,
            "worker_imports_s": imports,
            "rounds": asked.rounds,
            "checks": [asdict(check) for check in checks],
        }
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if all(check.status == "pass" for done in rounds for check in done) else 1


def median_check(several: Sequence[Check]) -> Check:
    """The one whose total is the (lower) median of all: its parts add up to that total."""
    return sorted(several, key=lambda check: check.total_s)[(len(several) - 1) // 2]


HEADER = (
    f"{'exercise':<24}{'cli':>6}{'judge':>7}"
    + "".join(f"{step:>12}" for step in STEPS)
    + f"{'between':>9}{'shutdown':>10}{'end':>6}{'total':>8}{'MiB':>7}"
)


def row(check: Check) -> str:
    """The figures of one check under HEADER, in seconds."""
    steps = "".join(f"{check.steps_s.get(step, 0.0):>12.2f}" for step in STEPS)
    return (
        f"{check.exercise:<24}{check.cli_start_s:>6.2f}{check.judge_start_s:>7.2f}{steps}"
        f"{check.between_s:>9.2f}{check.shutdown_s:>10.2f}{check.cli_end_s:>6.2f}"
        f"{check.total_s:>8.2f}{check.peak_mib:>7.0f}" + ("" if check.status == "pass" else "  !")
    )


# -- one check


def stamped_check(name: str, device: str, fd: int) -> int:
    """Run the command in this process; write the moments that matter to `fd` when it is over.

    CLOCK_MONOTONIC is one clock for all processes, so that the parent can compare.
    """
    from grader import cli
    from grader.grading import judge_process

    moments: dict[str, float] = {}
    ask = judge_process.ask

    def stamped_ask(requests: Any, hear: Any) -> None:
        def stamped_hear(answer: Any) -> None:
            if answer.kind == "result":
                moments["result_arrived"] = time.monotonic()
            hear(answer)

        moments["judge_started"] = time.monotonic()
        try:
            ask(requests, stamped_hear)
        finally:
            moments["judge_ended"] = time.monotonic()

    judge_process.ask = stamped_ask
    code = cli.main(["check", name, "--solution", "--json", "--device", device])
    with os.fdopen(fd, "w") as out:
        json.dump(moments, out)
    return code


def timed_check(name: str, device: str) -> tuple[Check, dict[str, Any]]:
    """One check from outside: its figures, and the environment that its result names."""
    reader, writer = os.pipe()
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, __file__, name, "--device", device, "--stamped", str(writer)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[writer],
    )
    os.close(writer)
    with Memory(child.pid) as memory:
        said, complaint = child.communicate()
    total = time.monotonic() - began
    with os.fdopen(reader) as stamps:
        written = stamps.read()
    if not said.strip() or not written:
        sys.exit(f"{name}: no result.\n{complaint.decode(errors='replace')}")
    result, moments = json.loads(said), json.loads(written)
    steps = {step["name"]: step["duration_s"] for step in result["steps"]}
    graded_from = moments["result_arrived"] - result["duration_s"]
    return (
        Check(
            exercise=result["exercise"],
            status=result["status"],
            cli_start_s=moments["judge_started"] - began,
            judge_start_s=graded_from - moments["judge_started"],
            steps_s=steps,
            between_s=result["duration_s"] - sum(steps.values()),
            shutdown_s=moments["judge_ended"] - moments["result_arrived"],
            cli_end_s=began + total - moments["judge_ended"],
            total_s=total,
            peak_mib=memory.peak / 2**20,
        ),
        result["environment"],
    )


class Memory:
    """While it is open, samples what the descendants of a process hold together, in bytes."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Memory:
        self._sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._sampler.join()

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.peak = max(self.peak, sum(map(proportional_bytes, descendants(self._pid))))


def descendants(pid: int) -> Iterator[int]:
    """Every process below this one. One that has just ended may be missing."""
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))


def proportional_bytes(pid: int) -> int:
    """Resident bytes of a process, those that n processes share counted as a n-th; 0 when gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


# -- what else is timed


def quick_command(word: str) -> list[float]:
    """Seconds of `grader WORD`, run a few times."""
    times = []
    for _ in range(QUICK_RUNS):
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "grader.cli", word], check=True, stdout=subprocess.DEVNULL
        )
        times.append(time.monotonic() - began)
    return times


def worker_imports(backend: str, device: str) -> float:
    """Seconds until the parent of all workers of a kind has forked its first one."""
    from grader.sandbox.fork_server import ForkServer

    fork_server = ForkServer(backend, device)
    began = time.monotonic()
    fork_server.start()
    try:
        worker = fork_server.fork(None)
        seconds = time.monotonic() - began
        fork_server.kill()
        worker.close()
    finally:
        fork_server.close()
    return seconds


if __name__ == "__main__":
    sys.exit(main())
