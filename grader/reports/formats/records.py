"""Results and attempts as JSON, one a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.model import Attempt, Signed, results, texts
from grader.model import attempts as records


def result_lines(attempts: Sequence[Attempt]) -> str:
    """Write `grader/result/v1`: the results without the names of students."""
    return _lines([results.result_json(attempt.result) for attempt in attempts])


def attempt_lines(attempts: Sequence[Attempt]) -> str:
    return _lines([records.attempt_json(attempt) for attempt in attempts])


def signed_line(attempts: Sequence[Attempt], sign: Callable[[Sequence[Attempt]], Signed]) -> str:
    """Write `grader/signed/v1`: one signature for all attempts of a run."""
    return _lines([records.attempt_json(sign(attempts))])


def _lines(lines: Sequence[str]) -> str:
    return texts.json_without_commands("".join(f"{line}\n" for line in lines))
