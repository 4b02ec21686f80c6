"""From files of results to the one that was measured with the very solution that is published.

Nothing is taken for a figure of a solution but what a result of that file holds: one that passed,
whose checksum is the solution's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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

SKEW = timedelta(days=1)  # by which clocks of honest machines differ at most
RESULT, ATTEMPT = "grader/result/v1", "grader/attempt/v1"


@dataclass(frozen=True)
class Evidence:
    """What was measured of one solution: `result` passed, and is of that very file.

    `missing` says in a sentence what is not measured, and why; empty where nothing is missing.
    """

    result: Result | None
    missing: str

    @property
    def speed(self) -> Speed | None:
        return speed_of(self.result) if self.result else None


def speed_of(result: Result) -> Speed | None:
    return next((step.speed for step in result.steps if step.speed), None)


def read(paths: Sequence[Path], now: datetime) -> Read[Result]:
    """The results in files and folders, of attempts of a class, too; and what cannot be used.

    Raises UsageError for a path that is not there.
    """
    return documents.read(paths, lambda path: partial(_results, now))


def unused(found: Iterable[tuple[str, Result]], solutions: Mapping[str, str]) -> list[Problem]:
    """What is no measurement of these solutions, whose SHA-256 are given by exercise; and repeats.

    Older results of a solution are none of it: the newest counts.
    """
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for place, result in found:
        name = quoted(result.exercise)
        known = first.setdefault(result_json(result), place)
        if known != place:
            problems.append(Problem(place, f"it is the same result as in {known}, and counts once"))
        elif result.exercise not in solutions:
            problems.append(Problem(place, f"it is of {name}, which is not published here"))
        elif result.kernel.sha256 != solutions[result.exercise]:
            reason = f"it is of another file than the solution of {name} as it stands"
            problems.append(Problem(place, reason))
    return problems


def _results(now: datetime, document: bytes) -> Iterator[Result]:
    result = _result(document)
    if started(result) > now + SKEW:
        raise Unusable(f"it is dated {result.started_at}, which is still to come")
    yield result


def _result(document: bytes) -> Result:
    """Raises Unusable for what is no result of this version."""
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
    """When the check began. Raises Unusable for what is no time."""
    try:
        return utc(result.started_at)
    except ValueError:
        raise Unusable(f"started_at is no time: {result.started_at[:80]!r}") from None


def of(exercise: str, sha256: str, timed: bool, results: Sequence[Result]) -> Evidence:
    """The newest result of the file that passed, and before all others one that was timed.

    `timed` is whether the exercise has a speed step.
    """
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
            f"Nothing is told of how this solution does: its newest result ended as "
            f"“{newest.status.value.replace('_', ' ')}”, not as a pass."
        )
    if named:
        return (
            "Nothing is measured here: the results that were given for this exercise are those "
            "of other files, not of this solution as it stands."
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
