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
    Outcome.NOT_STARTED: Verdict.FAILURE,
    Outcome.SKIP: Verdict.SKIPPED,
    Outcome.NOT_RUN: Verdict.SKIPPED,
    Outcome.ERROR: Verdict.ERROR,
    Outcome.CANNOT_GRADE: Verdict.ERROR,
    Outcome.NOISY: Verdict.ERROR,
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*")


def document(attempts: Sequence[Attempt]) -> str:
    """Return all attempts as one file. Suites name their students if there are several."""
    several = len({attempt.student for attempt in attempts}) > 1
    return junit_xml.document("grader", [_suite(attempt, several) for attempt in attempts])


def _suite(attempt: Attempt, several: bool) -> Suite:
    result = attempt.result
    name = f"{attempt.student}: {result.exercise}" if several else result.exercise
    student = attempt.student if several else ""
    classname = ".".join(filter(None, [attempt.course, student, result.exercise]))
    return Suite(
        name,
        list(_cases(result, classname)),
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


def _cases(result: Result, classname: str) -> Iterator[Case]:
    """Yield the steps as test cases, and one more if none of them says why it did not pass."""
    cases = [_step(s, f"{classname}.{one.entry}") for one in result.entries for s in one.steps]
    cases = cases or [_step(step, classname) for step in result.steps]
    cases += [_sanitizer(one, classname) for one in result.sanitized]
    yield from cases
    # A fault of ours must be an error even if the steps show only a learner's failure, and a check
    # that did not pass must never become a suite of passes and skips.
    verdicts = {case.verdict for case in cases}
    graded = facts.graded(result)
    needed = {Verdict.FAILURE, Verdict.ERROR} if graded else {Verdict.ERROR}
    if result.status is not Status.PASS and not verdicts & needed:
        verdict = Verdict.FAILURE if graded else Verdict.ERROR
        why = facts.reason(result) or facts.WORDS[result.status]
        yield Case(classname, "verdict", 0.0, verdict, result.status.value, why, why)


def _step(step: Step, classname: str) -> Case:
    verdict = _VERDICTS[step.outcome]
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
