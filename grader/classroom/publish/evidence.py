"""The choice of the result that shows how a published solution performs.

A solution's figures come only from a result that passed, and whose kernel has the solution's
checksum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from grader.classroom import documents
from grader.classroom.documents import Problem, Read, Unusable, schema_of
from grader.model import (
    Attempt,
    Result,
    Speed,
    Status,
    first_error,
    parse_result,
    quoted,
    result_json,
    utc,
)

SKEW = timedelta(days=1)  # the largest difference between clocks of honest machines
RESULT, ATTEMPT = "grader/result/v1", "grader/attempt/v1"


@dataclass(frozen=True)
class Evidence:
    """The measurements of one solution: `result` passed, and its kernel is that very file.

    `missing` is a sentence on anything that is not measured, and why; it may be empty, also where
    nothing at all was given.
    """

    result: Result | None
    missing: str

    @property
    def speed(self) -> Speed | None:
        return speed_of(self.result) if self.result else None


def speed_of(result: Result) -> Speed | None:
    return next((step.speed for step in result.steps if step.speed), None)


def read(paths: Sequence[Path], now: datetime) -> Read[Result]:
    """Read results, and those in a class's attempts, from files and folders.

    Raises UsageError for a path that is not there.
    """
    return documents.read(paths, lambda path: partial(_results, now))


def unused(
    placed: Iterable[tuple[str, Result]], solutions: Mapping[str, Collection[str]]
) -> list[Problem]:
    """List results of other files than these solutions, given by SHA-256, and repeated results.

    Older results of a solution are not listed, although only the newest counts.
    """
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for place, result in placed:
        name = quoted(result.exercise)
        known = first.setdefault(result_json(result), place)
        if known != place:
            problems.append(Problem(place, f"it is the same result as in {known}, and counts once"))
        elif result.exercise not in solutions:
            problems.append(Problem(place, f"it is of {name}, which is not published here"))
        elif result.kernel.sha256 not in solutions[result.exercise]:
            reason = f"it is of another file than the present solution of {name}"
            problems.append(Problem(place, reason))
    return problems


def _results(now: datetime, document: bytes) -> Iterator[Result]:
    result = _result(document)
    if started(result) > now + SKEW:
        raise Unusable(f"it is dated {result.started_at}, which is in the future")
    yield result


def _result(document: bytes) -> Result:
    schema = schema_of(document)
    if schema not in (RESULT, ATTEMPT):
        raise Unusable(f"it is a {quoted(schema)}, and {RESULT} is needed")
    try:
        if schema == ATTEMPT:
            return Attempt.model_validate_json(document).result
        return parse_result(document)
    except ValidationError as error:
        raise Unusable(f"it is no whole {schema}: {first_error(error)}") from None


def started(result: Result) -> datetime:
    """Return the time when the check began. Raises Unusable for a text that is not a time."""
    try:
        return utc(result.started_at)
    except ValueError:
        raise Unusable(f"started_at is not a time: {result.started_at[:80]!r}") from None


def choose(exercise: str, sha256: str, timed: bool, results: Sequence[Result]) -> Evidence:
    """Choose the newest passing result of the file, with a timed one before all others.

    `timed` says whether the exercise has a speed step. Without any result of any solution nothing
    is missing here: the publication as a whole says it once.
    """
    if not results:
        return Evidence(None, "")
    named = [result for result in results if result.exercise == exercise]
    mine = [result for result in named if result.kernel.sha256 == sha256]
    passed = [result for result in mine if result.status is Status.PASS]
    if not passed:
        return Evidence(None, _why_none(named, mine))
    best = max(passed, key=lambda result: (speed_of(result) is not None, started(result)))
    return Evidence(best, _why_no_speed(best) if timed and speed_of(best) is None else "")


def _why_none(named: Sequence[Result], mine: Sequence[Result]) -> str:
    if mine:
        newest = max(mine, key=started)
        return (
            f"Nothing is measured here: the newest result of this solution ended as "
            f"“{newest.status.value.replace('_', ' ')}”, not as a pass."
        )
    if named:
        return (
            "Nothing is measured here: the results that were given for this exercise are of other "
            "files, not of this solution."
        )
    return "Nothing is measured here: no result of this solution was given when it was published."


def _why_no_speed(result: Result) -> str:
    if result.environment.simulated:
        return (
            "Its speed is not measured: the result was simulated on a CPU, where reads, writes "
            "and memory are counted and nothing is timed."
        )
    step = next((step for step in result.steps if step.name == "speed"), None)
    said = f": {step.summary}" if step and step.summary else ""
    return f"Its speed is not measured{said}."
