"""JUnit's XML, as pytest, Jenkins and GitLab know it: a suite an exercise, a test case a step.

What is the learner's fault is a `failure`; what is ours or the machine's is an `error`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from grader.model import Attempt, Failure, Frame, Outcome, Result, Sanitized, Status, Step
from grader.reports.formats import facts, texts

MOST_CHARACTERS = 20_000  # of one long text
_KINDS = {
    Outcome.FAIL: "failure",
    Outcome.NOT_STARTED: "failure",
    Outcome.SKIP: "skipped",
    Outcome.NOT_RUN: "skipped",
    Outcome.ERROR: "error",
    Outcome.CANNOT_GRADE: "error",
    Outcome.NOISY: "error",
}
_TELLING = ("failure", "error")


@dataclass(frozen=True)
class _Case:
    """One test case; `kind` is empty for a pass, else failure, error or skipped."""

    name: str
    seconds: float
    kind: str = ""
    type: str = ""
    message: str = ""
    detail: str = ""


def document(attempts: Sequence[Attempt]) -> str:
    """All attempts as one file. Suites are named after their students where there are several."""
    students = {attempt.student for attempt in attempts}
    root = Element("testsuites", name="grader")
    totals: Counter[str] = Counter()
    seconds = 0.0
    for attempt in attempts:
        cases = list(_cases(attempt.result))
        counts = _counts(cases)
        totals.update(counts)
        seconds += sum(case.seconds for case in cases)
        root.append(_suite(attempt, cases, counts, several=len(students) > 1))
    root.attrib.update(_attributes(totals), time=f"{seconds:.3f}")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{texts.harmless_xml(text)}\n'


def _suite(
    attempt: Attempt, cases: Sequence[_Case], counts: Counter[str], several: bool
) -> Element:
    result = attempt.result
    exercise, student = texts.one_line(result.exercise), texts.one_line(attempt.student)
    name = f"{student}: {exercise}" if several else exercise
    suite = Element("testsuite", name=name, attrib=_attributes(counts))
    suite.set("time", f"{sum(case.seconds for case in cases):.3f}")
    if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*", result.started_at):
        suite.set("timestamp", result.started_at[:19])
    properties = SubElement(suite, "properties")
    for key, value in _properties(attempt):
        SubElement(properties, "property", name=key, value=texts.one_line(value))
    classname = ".".join(filter(None, [attempt.course, student if several else "", exercise]))
    for case in cases:
        element = SubElement(
            suite,
            "testcase",
            classname=texts.one_line(classname),
            name=case.name,
            time=f"{case.seconds:.3f}",
        )
        if case.kind:
            found = SubElement(element, case.kind, message=case.message)
            if case.kind != "skipped":
                found.set("type", case.type)
                found.text = case.detail
    if result.output:
        SubElement(suite, "system-out").text = _long(result.output)
    return suite


def _properties(attempt: Attempt) -> Iterator[tuple[str, str]]:
    result = attempt.result
    yield "grader.status", result.status.value
    if facts.graded(result):
        yield "grader.points", str(facts.earned(result))
        yield "grader.max_points", str(facts.most(result))
    yield "grader.seed", str(result.seed)
    yield "grader.device", result.environment.device
    timed = facts.speed(result)
    if timed is not None and timed.speed is not None:
        yield "grader.share_of_ceiling", f"{timed.speed.share:.4f}"
        yield "grader.gbps", f"{timed.speed.bandwidth_gbps:.1f}"
    for note in attempt.notes:
        yield "grader.note", note


def _cases(result: Result) -> Iterator[_Case]:
    """The steps as test cases, and one more where none of them tells why it did not pass."""
    cases = [*map(_step, result.steps), *map(_sanitizer, result.sanitized)]
    yield from cases
    # A fault of ours must be an error even where the steps tell of a learner's failure only, and
    # what did not pass must never come out as a suite of passes and skips.
    told = {case.kind for case in cases}
    wanted = _TELLING if facts.graded(result) else ("error",)
    if result.status is not Status.PASS and not told.intersection(wanted):
        kind = "failure" if facts.graded(result) else "error"
        why = facts.reason(result) or facts.WORDS[result.status]
        yield _Case("verdict", 0.0, kind, result.status.value, why, why)


def _step(step: Step) -> _Case:
    kind = _KINDS.get(step.outcome, "")
    message = texts.one_line(step.failure.message if step.failure else step.summary)
    type_ = step.failure.kind if step.failure else step.outcome.value
    detail = _detail(step.failure) if step.failure else message
    return _Case(step.name.value, _seconds(step), kind, texts.one_line(type_), message, detail)


def _seconds(step: Step) -> float:
    return max(step.duration_s, 0.0)


def _detail(failure: Failure) -> str:
    rows = [("", failure.message), ("case", failure.case), ("expected", failure.expected)]
    rows += [("got", failure.got), ("where", failure.where), ("replay", failure.replay)]
    rows += [("at", _frame(frame)) for frame in failure.frames]
    rows += [("hint", failure.hint)]
    return _long("\n".join(f"{word}  {text}".strip() for word, text in rows if text))


def _frame(frame: Frame) -> str:
    function = f" in {frame.function}" if frame.function else ""
    return f"line {frame.line}{function}: {frame.code}"


def _long(text: str) -> str:
    return texts.lines(texts.cut(text, MOST_CHARACTERS))


def _sanitizer(one: Sanitized) -> _Case:
    message = texts.one_line(one.summary)
    detail = _long("\n".join(error.message for error in one.errors) or one.summary)
    kind = _KINDS.get(one.outcome, "")
    name = texts.one_line(f"sanitize {one.tool}")
    return _Case(name, 0.0, kind, one.outcome.value, message, detail)


def _counts(cases: Sequence[_Case]) -> Counter[str]:
    return Counter({"tests": len(cases)}) + Counter(case.kind for case in cases if case.kind)


def _attributes(counts: Counter[str]) -> dict[str, str]:
    return {
        "tests": str(counts["tests"]),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }
