"""The rows of a board that belong to no student, from the records of `grader bench --json`."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from grader.classroom.board.records import Row, State
from grader.model import Record, UsageError

# The contenders of grader.grading.bench that are baselines, and their names on a board.
SOLUTION = "solution"
NAMES = {
    "torch eager": "torch eager",
    "torch.compile": "torch.compile",
    SOLUTION: "model solution",
}
LIMIT = "limit of the GPU's memory"
GB = 1e9  # bytes


class _Point(Record):
    contender: str
    bytes: int
    seconds: float | None = None
    bandwidth: float | None = None


class _Environment(Record):
    device: str


class _Benchmark(Record):
    """The part of a `grader/bench/v1` that a board needs. Bandwidths are bytes per second."""

    schema_: Literal["grader/bench/v1"] = Field(alias="schema")
    exercise: str
    environment: _Environment
    ceiling: float = Field(gt=0)
    points: tuple[_Point, ...]


@dataclass(frozen=True)
class Baseline:
    """The result of one contender on one GPU at the largest size. `share` is of the ceiling."""

    exercise: str
    row: Row


def read(paths: Sequence[Path]) -> tuple[Baseline, ...]:
    """Read the baselines in these files, each of which may hold several lines.

    Raises UsageError for any bad file: it is a teacher's own, and a board without it would mislead.
    """
    by_place: dict[tuple[str, str], list[Baseline]] = {}
    for path in paths:
        for benchmark in _benchmarks(path):
            place = benchmark.exercise, benchmark.environment.device
            if place in by_place:
                raise UsageError(
                    f"{path} holds a second benchmark of {place[0]} on {place[1]}.",
                    "Give one for each exercise and GPU.",
                )
            by_place[place] = [Baseline(benchmark.exercise, row) for row in _rows(benchmark)]
    return tuple(baseline for several in by_place.values() for baseline in several)


def _benchmarks(path: Path) -> Iterable[_Benchmark]:
    none = UsageError(
        f"{path} holds no grader/bench/v1, one a line.", "`grader bench NAME --json` prints one."
    )
    try:
        lines = [line for line in path.read_bytes().splitlines() if line.strip()]
        benchmarks = [_Benchmark.model_validate_json(line) for line in lines]
    except OSError as error:
        raise UsageError(
            f"The benchmark {path} cannot be read: {error.strerror}.",
            "`grader bench NAME --json` prints one.",
        ) from None
    except ValidationError:
        raise none from None
    if not benchmarks:  # a benchmark that failed wrote nothing to its file
        raise none
    return benchmarks


def _rows(benchmark: _Benchmark) -> Iterable[Row]:
    gpu = benchmark.environment.device
    largest = max((point.bytes for point in benchmark.points), default=0)
    for point in benchmark.points:
        timed = point.seconds is not None and point.bandwidth is not None
        name = _name(point.contender)
        if name is None or point.bytes != largest or not timed:
            continue
        assert point.seconds is not None
        assert point.bandwidth is not None
        yield Row(
            who=name,
            key=None,
            state=State.BASELINE,
            gpu=gpu,
            share=point.bandwidth / benchmark.ceiling,
            bandwidth_gbps=point.bandwidth / GB,
            ceiling_gbps=benchmark.ceiling / GB,
            time_ms=point.seconds * 1e3,
        )
    yield limit(gpu, benchmark.ceiling / GB)


def _name(contender: str) -> str | None:
    """Name a baseline; a solution beside the lesson's is `solution, fast` or `solution, cuda`."""
    first, comma, which = contender.partition(", ")
    known = NAMES.get(first)
    return f"{known}{comma}{which}" if known and (not comma or first == SOLUTION) else None


def one_for_all_gpus(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return one row for each baseline, the highest share first, whatever GPUs measured it.

    A row of several GPUs has the median of their shares, and an interval from the lowest to the
    highest; a bandwidth or a time would be that of one of them.
    """
    by_name: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[row.who].append(row)
    merged = (several[0] if len(several) == 1 else _merged(several) for several in by_name.values())
    return tuple(sorted(merged, key=lambda row: (-(row.share or 0.0), row.who)))


def _merged(several: Sequence[Row]) -> Row:
    shares = [row.share for row in several if row.share is not None]
    return Row(
        who=several[0].who,
        key=None,
        state=State.BASELINE,
        share=statistics.median(shares),
        share_low=min(shares),
        share_high=max(shares),
    )


def limit(gpu: str, ceiling_gbps: float) -> Row:
    """Return the row of a kernel that moves its bytes as fast as the reference kernel."""
    return Row(
        who=LIMIT,
        key=None,
        state=State.BASELINE,
        gpu=gpu,
        share=1.0,
        bandwidth_gbps=ceiling_gbps,
        ceiling_gbps=ceiling_gbps,
    )
