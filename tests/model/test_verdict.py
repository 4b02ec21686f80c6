"""From steps to status to exit code."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from grader.model import verdict
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, Sanitized, Step, parse_result

PASSED = parse_result((Path(__file__).parents[1] / "courses" / "result.json").read_bytes())


def steps_of(*outcomes: Outcome) -> tuple[Step, ...]:
    """The steps in order, as many as there are outcomes."""
    return tuple(
        step.model_copy(update={"outcome": outcome})
        for step, outcome in zip(PASSED.steps, outcomes, strict=False)
    )


def result(**changes: object) -> Result:
    return PASSED.model_copy(update=changes)


P, F, S = Outcome.PASS, Outcome.FAIL, Outcome.SKIP
NOT_RUN, ERROR, NO_MACHINE = Outcome.NOT_RUN, Outcome.ERROR, Outcome.CANNOT_GRADE
SIX = [step.name for step in PASSED.steps]
SKIPPABLE = ("traffic", "counts", "speed")


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ((P, P, P, P, P, P), Status.PASS),
        ((P, P, P, P, P, S), Status.PASS),
        ((P, P, P, S, P, P), Status.PASS),
        ((P, P, P, S, P, S), Status.PASS),
        ((P, F, NOT_RUN, NOT_RUN, NOT_RUN, NOT_RUN), Status.FAIL),
        ((P, P, P, F, NOT_RUN, NOT_RUN), Status.FAIL),
        ((P, P, P, P, F, NOT_RUN), Status.FAIL),
        ((P, P, P, P, P, F), Status.FAIL),
        ((Outcome.NOT_STARTED, *[NOT_RUN] * 5), Status.NOT_STARTED),
        ((P, P, P, P, P, NO_MACHINE), Status.CANNOT_GRADE),
        ((P, P, P, P, Outcome.NOISY, NOT_RUN), Status.CANNOT_GRADE),
        ((P, ERROR, NOT_RUN, NOT_RUN, NOT_RUN, NOT_RUN), Status.ERROR),
        ((P, P, P, ERROR, NOT_RUN, NOT_RUN), Status.ERROR),
        ((P, F, ERROR, NOT_RUN, NOT_RUN, NO_MACHINE), Status.ERROR),
        ((P, F, NOT_RUN, NOT_RUN, NOT_RUN, NO_MACHINE), Status.CANNOT_GRADE),
        ((), Status.UNFINISHED),
        ((P,), Status.UNFINISHED),
        ((P, P, P), Status.UNFINISHED),
        ((P, P, P, P, P), Status.UNFINISHED),
        ((P, S, P, P, P, P), Status.UNFINISHED),
        ((P, P, S, P, P, P), Status.UNFINISHED),
        ((P, P, P, P, S, P), Status.UNFINISHED),
        ((P, P, P, NOT_RUN, P, P), Status.UNFINISHED),
        ((P, P, P, P, P, NOT_RUN), Status.UNFINISHED),
    ],
)
def test_the_status_of_steps(outcomes: tuple[Outcome, ...], status: Status):
    assert verdict.status_of(steps_of(*outcomes), SIX, SKIPPABLE) is status


def test_a_failure_is_certain_whatever_could_not_be_simulated():
    lacks = Failure(kind="not_simulated", message="The kernel cannot be simulated: clusters.")
    load, correctness, *others = steps_of(P, NO_MACHINE, NOT_RUN, NOT_RUN, F, NOT_RUN)
    unsimulated = correctness.model_copy(update={"failure": lacks})
    steps = (load, unsimulated, *others)
    assert verdict.status_of(steps, SIX, SKIPPABLE) is Status.FAIL
    assert verdict.status_of(steps[:2], SIX, SKIPPABLE) is Status.CANNOT_GRADE
    assert verdict.status_of((load, correctness, *others), SIX, SKIPPABLE) is Status.CANNOT_GRADE


def test_a_step_that_the_exercise_has_must_be_there_and_no_other():
    puzzle = ["load", "correctness", "properties", "traffic"]
    assert verdict.status_of(steps_of(P, P, P, P), puzzle, SKIPPABLE) is Status.PASS
    assert verdict.status_of(steps_of(P, P, P, P, P, P), puzzle, SKIPPABLE) is Status.UNFINISHED
    assert (
        verdict.status_of(steps_of(P, P, P, P), [*puzzle, "counts"], SKIPPABLE) is Status.UNFINISHED
    )


@pytest.mark.slow
def test_nothing_but_six_passes_is_a_pass():
    """Every combination of outcomes: all steps passed, traffic and speed at most skipped."""
    for outcomes in itertools.product((P, F, S, NOT_RUN, ERROR, NO_MACHINE), repeat=6):
        passed = verdict.status_of(steps_of(*outcomes), SIX, SKIPPABLE) is Status.PASS
        *must, traffic, memory, speed = outcomes
        may_skip = traffic in (P, S) and speed in (P, S)
        assert passed is ((*must, memory) == (P, P, P, P) and may_skip), outcomes


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([Status.PASS], 0),
        ([Status.FAIL], 1),
        ([Status.NOT_STARTED], 1),
        ([Status.CANNOT_GRADE], 3),
        ([Status.ERROR], 4),
        ([Status.UNFINISHED], 4),
        ([Status.INTERRUPTED], 130),
        ([], 4),
        ([Status.PASS, Status.FAIL], 1),
        ([Status.FAIL, Status.CANNOT_GRADE], 3),
        ([Status.ERROR, Status.CANNOT_GRADE, Status.FAIL], 4),
        ([Status.PASS, Status.INTERRUPTED, Status.ERROR], 130),
    ],
)
def test_the_exit_code_is_the_gravest(statuses: list[Status], code: int):
    assert verdict.exit_code(result(status=status) for status in statuses) == code


def test_every_status_has_an_exit_code_and_only_a_pass_is_zero():
    assert set(verdict.EXIT_CODES) == set(Status)
    assert [status for status, code in verdict.EXIT_CODES.items() if code == 0] == [Status.PASS]


def test_the_first_problem_is_the_first_that_neither_passed_nor_was_skipped():
    failed = result(steps=steps_of(P, F, NOT_RUN, NOT_RUN, NOT_RUN))
    found = verdict.first_problem(failed)
    assert found is not None
    assert found.name == "correctness"
    assert verdict.first_problem(result(steps=steps_of(P, P, P, S, S))) is None


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (P, Status.PASS),
        (F, Status.FAIL),
        (NO_MACHINE, Status.CANNOT_GRADE),
        (NOT_RUN, Status.UNFINISHED),
        (S, Status.UNFINISHED),
    ],
)
def test_a_sanitizer_s_errors_count_where_it_ran(outcome: Outcome, status: Status):
    said = Sanitized(tool="racecheck", outcome=outcome, case="1025,float32", summary="")
    clean = said.model_copy(update={"outcome": P})
    assert verdict.status_of(steps_of(P, P, P, P, P, P), SIX, SKIPPABLE, [clean, said]) is status
