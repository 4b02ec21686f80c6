"""The counts step with real workers: what is counted, what fails, and in which words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.catalog import Exercise
from grader.grading import check, steps
from grader.grading.check import Request
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.counts.budgets import HINTS
from grader.model.exercise import COUNTS
from grader.model.outcomes import Outcome, Status
from grader.model.results import Step
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.worker_link import WorkerLink

pytestmark = pytest.mark.slow

STEPS = steps.every()
FOLDER = Path(__file__).parents[2] / "courses" / "counted" / "puzzles" / "p01_transpose"
TRANSPOSE = Exercise(FOLDER)
PERFECT = {
    "transactions": 256,
    "bank_conflicts": 0,
    "global_reads": 1,
    "global_writes": 1,
    "shared_reads": 1,
    "shared_writes": 1,
    "barriers": 1,
}


@pytest.fixture(scope="module")
def fork_servers() -> Iterator[ForkServers]:
    made = ForkServers()
    yield made
    made.close()


@pytest.fixture
def counted(fork_servers: ForkServers, tmp_path: Path):
    """Runs the counts step alone on the solution with these changes."""

    def counted_step(*changes: tuple[str, str]) -> Step:
        text = TRANSPOSE.solution.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        file = tmp_path / "kernel.py"
        file.write_text(text)
        grading = Grading(TRANSPOSE, file, Options(seed=1), fork_servers)
        try:
            for earlier in ("load", "correctness", "properties", "traffic"):
                run(grading, replace(STEPS[earlier], run=lambda _: Finding("taken as passed")))
            return run(grading, STEPS["counts"])
        finally:
            grading.close()

    return counted_step


def values(step: Step) -> dict[str, int]:
    return {one.count: one.value for one in step.counts}


def test_every_count_has_its_words():
    assert set(COUNTS) == set(HINTS)


def test_a_perfect_kernel_meets_every_budget(counted):
    step = counted()
    assert (step.outcome, step.points) == (Outcome.PASS, 1)
    assert values(step) == PERFECT
    assert [(one.most, one.best) for one in step.counts] == [(n, n) for n in PERFECT.values()]
    assert step.summary == (
        "32×32 float32: 256 transactions, 0 bank conflicts, 1 global read, 1 global write, "
        "1 shared read, 1 shared write, 1 barrier"
    )


# Each thread writes what it read, so that a warp writes to 32 rows.
STRIDED = (
    ("cuda.blockIdx.x * TILE + row, cuda.blockIdx.y * TILE + column", "j, i"),
    ("out[i, j] = tile[column, row]", "out[i, j] = tile[row, column]"),
)


def test_strided_writes_move_more_pieces(counted):
    step = counted(*STRIDED)
    assert step.outcome is Outcome.FAIL
    assert values(step) == PERFECT | {"transactions": 128 + 32 * 32}
    failure = step.failure
    assert failure.kind == "counts"
    assert failure.message == (
        "32 threads of a warp touch 32 separate 32-byte pieces of memory at once: "
        "1,152 transactions in all, where 256 are enough"
    )
    assert (failure.expected, failure.got) == ("at most 256 transactions", "1,152")
    assert [(frame.line, frame.code) for frame in failure.frames] == [
        (18, "out[i, j] = tile[row, column]")
    ]
    assert failure.case == "32×32 float32"
    assert failure.hint == HINTS["transactions"]


def test_a_tile_without_a_further_column_has_bank_conflicts(counted):
    step = counted(("33)", "TILE)"))
    # Each of 32 warps reads a column, all of whose words lie in one bank.
    assert values(step) == PERFECT | {"bank_conflicts": 32 * 31}
    assert step.failure.message == (
        "32 threads of a warp come to shared memory at once, and one bank has 32 different words "
        "to serve, one after the other: 992 bank conflicts in all, where none is needed"
    )
    assert [frame.code for frame in step.failure.frames] == ["out[i, j] = tile[column, row]"]


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (
            ("tile[row, column] = x[i, j]", "tile[row, column] = (x[i, j] + x[i, j]) / 2"),
            "global_reads",
            "the busiest thread reads global memory twice, where once is enough",
        ),
        (
            ("out[i, j] = tile", "out[i, j] = 0; out[i, j] = tile"),
            "global_writes",
            "the busiest thread writes to global memory twice, where once is enough",
        ),
        (
            ("= tile[column, row]", "= (tile[column, row] + tile[column, row]) / 2"),
            "shared_reads",
            "the busiest thread reads shared memory twice, where once is enough",
        ),
        (
            ("tile[row, column] = x", "tile[row, column] = 0; tile[row, column] = x"),
            "shared_writes",
            "the busiest thread writes to shared memory twice, where once is enough",
        ),
        (
            ("cuda.syncthreads()", "cuda.syncthreads(); cuda.syncthreads()"),
            "barriers",
            "the busiest thread waits at 2 barriers, where 1 is enough",
        ),
    ],
)
def test_what_one_thread_does_too_often(counted, change, name: str, message: str):
    step = counted(change)
    assert step.outcome is Outcome.FAIL
    assert values(step)[name] == 2
    told = step.failure.message
    if name.startswith("global"):  # more transactions, too, which are told first
        assert told.endswith("384 transactions in all, where 256 are enough")
    else:
        assert (told, step.failure.frames) == (message, ())


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_not_counted_does_not_pass(counted, monkeypatch, name: str):
    count = WorkerLink.count

    def forgets(self: WorkerLink, call: object):
        found = count(self, call)
        return replace(
            found, counts={k: v for k, v in found.counts.items() if k != f"counts.{name}"}
        )

    monkeypatch.setattr(WorkerLink, "count", forgets)
    step = counted()
    assert (step.outcome, step.points) == (Outcome.ERROR, 0)
    assert step.failure.message == f"The worker did not count the {name.replace('_', ' ')}."


def test_a_wrong_output_is_reported_and_not_counted(counted):
    step = counted(("= tile[column, row]", "= tile[row, column]"))
    assert (step.outcome, step.failure.kind, step.counts) == (Outcome.FAIL, "value", ())


def test_a_check_has_the_step_between_traffic_and_the_rest():
    (result,) = check.run(
        [Request(TRANSPOSE, TRANSPOSE.solution, Options(device="cpu", seed=1))], progress=print
    )
    assert result.status is Status.PASS
    assert [step.name for step in result.steps] == [
        *("load", "correctness", "properties", "traffic"),
        "counts",
    ]
    assert (result.points, result.max_points) == (7, 7)
