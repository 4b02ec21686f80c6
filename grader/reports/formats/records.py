"""Results and attempts as JSON, one a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.model import Attempt, Signed, results, texts
from grader.model import attempts as records


def result_lines(attempts: Sequence[Attempt]) -> str:
    """`grader/result/v1`: what was graded, without whose it is."""
    return _lines([results.result_json(attempt.result) for attempt in attempts])


def attempt_lines(attempts: Sequence[Attempt]) -> str:
    """`grader/attempt/v1`."""
    return _lines([records.attempt_json(attempt) for attempt in attempts])


def signed_line(attempts: Sequence[Attempt], sign: Callable[[Sequence[Attempt]], Signed]) -> str:
    """`grader/signed/v1`: one signature on all of a run."""
    return _lines([records.attempt_json(sign(attempts))])


def _lines(lines: Sequence[str]) -> str:
    return texts.json_without_commands("".join(f"{line}\n" for line in lines))
