"""From files of results to the one that was measured with the very solution that is published.

Nothing is taken for a figure of a solution but what a result of that file holds: one that passed,
whose checksum is the solution's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from grader.attempts import Attempt
from grader.results import Result, Speed, from_json
from grader.terms import Status, StepName

LARGEST = 1 << 26  # bytes of a file of results; that of a whole course has some hundred thousand
MOST_PROBLEMS = 5  # told of one file
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


def read(files: Sequence[Path], now: datetime) -> tuple[list[Result], list[str]]:
    """The results in files of JSON lines, or of one JSON document, and what cannot be used.

    A file holds results, attempts of a class, or lists of them. Each problem names its file and
    line; none stops the rest.
    """
    results: list[Result] = []
    problems: list[str] = []
    for file in files:
        try:
            if (size := file.stat().st_size) > LARGEST:
                raise ValueError(f"it has {size:,} bytes, and {LARGEST:,} are read at most")
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            problems.append(f"{file} cannot be read: {error.strerror}.")
            continue
        except ValueError as error:  # UnicodeDecodeError is one, too
            problems.append(f"{file} cannot be used: {error}.")
            continue
        found, useless = _sorted(text, now)
        results += found
        problems += [f"{file}{each}" for each in useless[:MOST_PROBLEMS]]
        if len(useless) > MOST_PROBLEMS:
            problems.append(f"{file}: {len(useless) - MOST_PROBLEMS:,} more such lines.")
        if not found and not useless:
            problems.append(f"{file} holds no results.")
    return results, problems


def _sorted(text: str, now: datetime) -> tuple[list[Result], list[str]]:
    """The results of one file; of what cannot be used, where it is and why."""
    results, problems = [], []
    for where, document in _documents(text):
        try:
            result = _result(document)
            _require_past(result, now)
        except ValueError as error:
            problems.append(f"{where} cannot be used: {error}.")
        else:
            results.append(result)
    return results, problems


def _documents(text: str) -> Iterator[tuple[str, object]]:
    """Each JSON value of a file and where it is; what is no JSON comes as a text."""
    whole = _parsed(text)
    if not isinstance(whole, str):
        yield from _flat("", whole)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield from _flat(f", line {number}", _parsed(line))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _flat(where: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, list):
        for number, entry in enumerate(value, start=1):
            yield f"{where}, entry {number}", entry
    else:
        yield where, value


def _result(document: object) -> Result:
    """Raises ValueError, in words, for what is no result of this version."""
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object: it may be cut off")
    schema = document.get("schema")
    if schema not in (RESULT, ATTEMPT):
        said = "it names no schema" if schema is None else f"its schema is {str(schema)[:80]!r}"
        raise ValueError(f"{said}, and {RESULT} is needed")
    try:
        text = json.dumps(document)  # strict records are read from JSON, not from Python's lists
        if schema == ATTEMPT:
            return Attempt.model_validate_json(text).result
        return from_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"it is no valid {schema}: {where}: {first['msg']}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _require_past(result: Result, now: datetime) -> None:
    if started(result) > now + SKEW:
        raise ValueError(f"it is dated {result.started_at}, which is still to come")


def started(result: Result) -> datetime:
    """When the check began. Raises ValueError for what is no time."""
    try:
        told = datetime.fromisoformat(result.started_at)
    except ValueError:
        raise ValueError(f"started_at is no time: {result.started_at[:80]!r}") from None
    return told if told.tzinfo else told.replace(tzinfo=UTC)


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
    step = next((step for step in result.steps if step.name is StepName.SPEED), None)
    said = f": {step.summary}" if step and step.summary else ""
    return f"Its speed is not measured{said}."
