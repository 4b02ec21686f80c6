"""The counts step with real workers: what is counted, what fails, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from messages import text_of
from one_step import one_step
from specs import with_spec
from syrupy.assertion import SnapshotAssertion

from grader import backends
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check, steps
from grader.grading.check import Request
from grader.grading.options import Options
from grader.grading.steps.counts.budgets import HINTS
from grader.model.exercise import COUNTS, Budget
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
        return one_step("counts", TRANSPOSE, file, fork_servers)

    return counted_step


def values(step: Step) -> dict[str, int]:
    return {one.count: one.value for one in step.counts}


def test_every_count_has_its_words():
    assert set(COUNTS) == set(HINTS)


def test_a_perfect_kernel_meets_every_budget(counted, snapshot: SnapshotAssertion):
    step = counted()
    assert (step.outcome, step.points) == (Outcome.PASS, 1)
    assert values(step) == PERFECT
    assert [(one.most, one.best) for one in step.counts] == [(n, n) for n in PERFECT.values()]
    assert step.summary == snapshot


# Each thread writes what it read, so that a warp writes to 32 rows.
STRIDED = (
    ("cuda.blockIdx.x * TILE + row, cuda.blockIdx.y * TILE + column", "j, i"),
    ("out[i, j] = tile[column, row]", "out[i, j] = tile[row, column]"),
)


def test_strided_writes_move_more_pieces(counted, snapshot: SnapshotAssertion):
    step = counted(*STRIDED)
    assert step.outcome is Outcome.FAIL
    assert values(step) == PERFECT | {"transactions": 128 + 32 * 32}
    failure = step.failure
    assert failure.kind == "counts"
    assert text_of(failure) == snapshot
    assert (failure.expected, failure.got) == ("at most 256 transactions", "1,152")
    assert [(frame.line, frame.code) for frame in failure.frames] == [
        (18, "out[i, j] = tile[row, column]")
    ]
    assert failure.case == "32 × 32 in float32"
    assert failure.hint == HINTS["transactions"]


def test_a_tile_without_a_further_column_has_bank_conflicts(counted, snapshot: SnapshotAssertion):
    step = counted(("33)", "TILE)"))
    # Each of 32 warps reads a column, all of whose words lie in one bank.
    assert values(step) == PERFECT | {"bank_conflicts": 32 * 31}
    assert text_of(step.failure) == snapshot
    assert [frame.code for frame in step.failure.frames] == ["out[i, j] = tile[column, row]"]


TOO_OFTEN = {
    "global_reads": ("tile[row, column] = x[i, j]", "tile[row, column] = (x[i, j] + x[i, j]) / 2"),
    "global_writes": ("out[i, j] = tile", "out[i, j] = 0; out[i, j] = tile"),
    "shared_reads": ("= tile[column, row]", "= (tile[column, row] + tile[column, row]) / 2"),
    "shared_writes": ("tile[row, column] = x", "tile[row, column] = 0; tile[row, column] = x"),
    "barriers": ("cuda.syncthreads()", "cuda.syncthreads(); cuda.syncthreads()"),
}


@pytest.mark.parametrize(("name", "change"), TOO_OFTEN.items(), ids=TOO_OFTEN)
def test_what_one_thread_does_too_often(
    counted, name: str, change: tuple[str, str], snapshot: SnapshotAssertion
):
    """Accesses of global memory are more transactions, too, which are reported first."""
    step = counted(change)
    assert step.outcome is Outcome.FAIL
    assert values(step)[name] == 2
    assert text_of(step.failure) == snapshot
    assert bool(step.failure.frames) == (name != "barriers")


@pytest.mark.parametrize("name", backends.find("numba").counts)
def test_what_is_not_counted_does_not_pass(
    counted, monkeypatch, name: str, snapshot: SnapshotAssertion
):
    count = WorkerLink.count

    def forgets(self: WorkerLink, call: object):
        found = count(self, call)
        return replace(
            found, counts={k: v for k, v in found.counts.items() if k != f"counts.{name}"}
        )

    monkeypatch.setattr(WorkerLink, "count", forgets)
    step = counted()
    assert (step.outcome, step.points) == (Outcome.ERROR, 0)
    assert text_of(step.failure) == snapshot


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


# -- budgets of a language whose kernels are programs on blocks

ADD = catalog.find(Path(__file__).parents[3], "01_vector_add")
BUDGETS = (
    Budget("programs", most=5, best=5),
    Budget("loads", most=2, best=2),
    Budget("stores", most=1, best=1),
    Budget("bytes", most=3 * 4 * 1024, best=3 * 4 * 1024),
    Budget("transactions", most=1890, best=1878),
)


@pytest.fixture
def added(fork_servers: ForkServers, tmp_path: Path) -> Callable[..., Step]:
    """Runs the counts step alone on 01's solution with these changes, for 5,003 elements."""

    def counted_step(*changes: tuple[str, str]) -> Step:
        text = ADD.solution.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        file = tmp_path / "kernel.py"
        file.write_text(text)
        exercise = with_spec(ADD, replace(ADD.spec, budgets=BUDGETS))
        return one_step("counts", exercise, file, fork_servers)

    return counted_step


def test_programs_on_blocks_have_budgets_too(added, snapshot: SnapshotAssertion):
    step = added()
    assert step.outcome is Outcome.PASS
    assert step.summary == snapshot


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ([("BLOCK = 1024", "BLOCK = 512")], "programs"),
        ([("BLOCK = 1024", "BLOCK = 2048")], "bytes"),
    ],
)
def test_a_program_that_does_too_much_is_over_its_budget(
    added, changes, count: str, snapshot: SnapshotAssertion
):
    step = added(*changes)
    assert step.outcome is Outcome.FAIL
    assert [one.count for one in step.counts if one.value > one.most] == [count]
    assert text_of(step.failure) == snapshot
