"""Attempts as JUnit XML: a suite for each exercise, a test case for each step.

A `failure` is the learner's fault; an `error` is ours or the machine's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from grader.model import (
    Attempt,
    Failure,
    Frame,
    Outcome,
    Result,
    Sanitized,
    Speed,
    Status,
    Step,
)
from grader.reports import junit_xml
from grader.reports.formats import facts
from grader.reports.junit_xml import Case, Suite, Verdict
from grader.reports.layout import WIDEST
from grader.reports.numbers import number_lines
from grader.speed import held_to

_VERDICTS = {
    Outcome.PASS: Verdict.PASSED,
    Outcome.FAIL: Verdict.FAILURE,
    Outcome.SKIP: Verdict.SKIPPED,
    Outcome.NOT_RUN: Verdict.SKIPPED,
    Outcome.ERROR: Verdict.ERROR,
    Outcome.CANNOT_GRADE: Verdict.ERROR,
    Outcome.NOISY: Verdict.ERROR,
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*")


def document(attempts: Sequence[Attempt], require_started: bool = False) -> str:
    """Return all attempts as one file. Suites name their students if there are several.

    An exercise that is not started is skipped, or a failure with `require_started`.
    """
    several = len({attempt.student for attempt in attempts}) > 1
    suites = [_suite(attempt, several, require_started) for attempt in attempts]
    return junit_xml.document("grader", suites)


def _suite(attempt: Attempt, several: bool, require_started: bool) -> Suite:
    result = attempt.result
    name = f"{attempt.student}: {result.exercise}" if several else result.exercise
    student = attempt.student if several else ""
    classname = ".".join(filter(None, [attempt.course, student, result.exercise]))
    return Suite(
        name,
        list(_cases(result, classname, require_started)),
        timestamp=result.started_at if _TIME.fullmatch(result.started_at) else "",
        properties=_properties(attempt),
        output=result.output,
    )


def _properties(attempt: Attempt) -> Mapping[str, Sequence[str]]:
    result = attempt.result
    values: dict[str, Sequence[str]] = {"grader.status": [result.status.value]}
    if facts.graded(result):
        values["grader.points"] = [str(facts.earned(result))]
        values["grader.max_points"] = [str(facts.most(result))]
    values["grader.seed"] = [str(result.seed)]
    values["grader.device"] = [result.environment.device]
    timed = facts.speed(result)
    if timed is not None and timed.speed is not None:
        values["grader.share_of_ceiling"] = [f"{timed.speed.share:.4f}"]
        values["grader.gbps"] = [f"{timed.speed.bandwidth_gbps:.1f}"]
        if timed.speed.sizes:
            values["grader.sizes"] = [_size(one) for one in timed.speed.sizes]
    return values | {"grader.note": attempt.notes}


def _size(one: Speed) -> str:
    return f"{one.case}: {one.share:.4f} of {held_to(one)}, {one.passing:.2f} passes"


def _cases(result: Result, classname: str, require_started: bool) -> Iterator[Case]:
    """Yield the steps as test cases, and one more if none of them says why it did not pass."""
    missing = Verdict.FAILURE if require_started else Verdict.SKIPPED
    verdicts_of = _VERDICTS | {Outcome.NOT_STARTED: missing}
    parts = [(f"{classname}.{one.entry}", one.steps) for one in result.entries]
    parts = parts or [(classname, result.steps)]
    cases = [
        _step(step, name, verdicts_of[step.outcome]) for name, steps in parts for step in steps
    ]
    cases += [_sanitizer(one, classname) for one in result.sanitized]
    yield from cases
    # A fault of ours must be an error even if the steps show only a learner's failure, and a check
    # that did not pass must never become a suite of passes and skips.
    verdicts = {case.verdict for case in cases}
    graded = facts.graded(result)
    needed = {Verdict.FAILURE, Verdict.ERROR} if graded else {Verdict.ERROR}
    verdict = Verdict.FAILURE if graded else Verdict.ERROR
    explained = bool(verdicts & needed)
    if result.status is Status.NOT_STARTED:
        verdict = missing
        outcomes = {step.outcome for _, steps in parts for step in steps}
        explained = Outcome.NOT_STARTED in outcomes
    if result.status is not Status.PASS and not explained:
        why = facts.reason(result) or facts.WORDS[result.status]
        yield Case(classname, "verdict", 0.0, verdict, result.status.value, why, why)


def _step(step: Step, classname: str, verdict: Verdict) -> Case:
    failure = step.failure
    message = failure.message if failure else step.summary
    type_ = failure.kind if failure else step.outcome.value
    detail = _detail(failure) if failure else message
    return Case(classname, step.name, step.duration_s, verdict, type_, message, detail)


def _detail(failure: Failure) -> str:
    rows = [("", failure.message), ("case", failure.case), ("expected", failure.expected)]
    rows += [("got", failure.got), ("where", failure.where)]
    if failure.numbers:
        rows += [("", line) for line in number_lines(failure.numbers, WIDEST)]
    rows += [("replay", failure.replay)]
    rows += [("at", _frame(frame)) for frame in failure.frames]
    rows += [("hint", failure.hint)]
    return "\n".join(f"{word}  {text}".strip() for word, text in rows if text)


def _frame(frame: Frame) -> str:
    function = f" in {frame.function}" if frame.function else ""
    return f"line {frame.line}{function}: {frame.code}"


def _sanitizer(one: Sanitized, classname: str) -> Case:
    detail = "\n".join(error.message for error in one.errors) or one.summary
    verdict = _VERDICTS[one.outcome]
    name = f"sanitize {one.tool}"
    return Case(classname, name, 0.0, verdict, one.outcome.value, one.summary, detail)
