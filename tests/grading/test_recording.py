"""A step comes to a result, whatever it raises, and a listener hears that it begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from grader.course import catalog
from grader.grading import steps
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.model.outcomes import Outcome
from grader.model.results import Frame
from grader.sandbox.executor import NotSimulated, TooManyOperations
from grader.sandbox.fork_servers import ForkServers

EXERCISE = catalog.find(Path(__file__).parents[1] / "courses" / "small", "01_double")
FRAME = Frame(line=3, function="f", code="for i in range(n):")


@pytest.fixture
def grading() -> Iterator[Grading]:
    with closing(ForkServers()) as servers:
        grading = Grading(EXERCISE, EXERCISE.solution, Options(), servers)
        yield grading
        grading.close()


@pytest.mark.parametrize(
    "error", [NotSimulated("it is odd"), TooManyOperations("too many", "Load blocks.", (FRAME,))]
)
def test_what_no_simulator_can_do_is_neither_right_nor_wrong(grading: Grading, error: NotSimulated):
    def refuse(_: Grading) -> Finding:
        raise error

    result = run(grading, replace(steps.every()["load"], run=refuse))
    assert result.outcome is Outcome.CANNOT_GRADE
    assert result.failure is not None
    assert result.failure.kind == error.kind
    assert result.failure == error.as_failure()


def test_only_a_step_that_runs_is_announced(grading: Grading):
    begun: list[str] = []
    grading.on_step = lambda step: begun.append(step.name)
    load = replace(steps.every()["load"], run=lambda _: Finding("", outcome=Outcome.FAIL))
    run(grading, load)
    run(grading, steps.every()["correctness"])
    assert begun == ["load"]


def test_every_step_that_ended_is_passed_on_with_its_outcome(grading: Grading):
    ended: list[tuple[str, Outcome]] = []
    grading.on_ended = lambda step: ended.append((step.name, step.outcome))
    load = replace(steps.every()["load"], run=lambda _: Finding("", outcome=Outcome.FAIL))
    run(grading, load)
    run(grading, steps.every()["correctness"])
    assert ended == [("load", Outcome.FAIL), ("correctness", Outcome.NOT_RUN)]


@pytest.mark.parametrize(
    ("outcome", "left_out", "expected"),
    [
        (Outcome.PASS, (), ["late"]),
        (Outcome.FAIL, (), []),
        (Outcome.PASS, ("late",), []),
    ],
)
def test_steps_prepare_once_when_the_first_one_has_passed(
    grading: Grading, outcome: Outcome, left_out: tuple[str, ...], expected: list[str]
):
    prepared: list[str] = []
    first = replace(steps.every()["load"], run=lambda _: Finding("", outcome=outcome))
    second = replace(first, name="second")
    late = replace(first, name="late", prepare=lambda _: prepared.append("late"))
    broken = replace(first, name="broken", prepare=lambda _: 1 / 0)
    grading.options = replace(grading.options, leave_out=left_out)
    grading.order = (first, broken, second, late)
    grading.points = {step.name: 0 for step in grading.order}
    run(grading, first)
    run(grading, second)
    assert prepared == expected


def test_the_end_of_a_check_ends_what_began_beside_it(grading: Grading):
    """A failed property once waited for the compiler, which ends with the check."""
    ended = Event()

    def work(_: Grading) -> bool:
        return ended.wait(timeout=60)

    grading.at_close.callback(ended.set)
    grading.begin(work)
    grading.close()
    assert grading.once(work), "the check waited for it"


@pytest.mark.parametrize("name", steps.every())
def test_every_step_says_why_it_may_take_long(name: str, grading: Grading):
    reason = steps.every()[name].slow(grading)
    assert reason
    assert len(reason) < 160
    assert reason[0].islower()
    assert not reason.endswith(".")
