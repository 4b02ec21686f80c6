"""The part of a class's results that a student may see: the own ones, without anybody else's name.

Messages may hold paths of the machine that graded: of these the last name is kept. What a kernel
printed is left out: it may be anything that the machine held. Notes are for the instructor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.classroom.board.forbidden import Forbidden
from grader.classroom.policy.records import FinalCell, FinalRow
from grader.model import Attempt, Result, login_of, parse_result, result_json

# `/a/b/c.py`, and behind `file://`; not the `/` in `1/2`, `exercises/kernel.py` or a URL.
_PATH = re.compile(
    r"(?:file://|(?<![\w.:/~\\-]))(?:/[^\s/'\"`:,;()<>|]+)+/([^\s/'\"`:,;()<>|]*)|~/[^\s'\"`:,;()<>|]+"
)

# The fields of a result that may repeat what a kernel file or a library said. All others hold words
# of the grader's, such as `pass`, and a student may have the login `pass`.
_SENTENCES = ("message", "summary", "hint", "error", "report")


@dataclass(frozen=True)
class StudentsView:
    """A student's grades, and the results behind them by the exercise's name."""

    row: FinalRow
    results: Mapping[str, Result]


def views(rows: Sequence[FinalRow], attempts: Mapping[str, Attempt]) -> Iterator[StudentsView]:
    """Yield what each student may see, in the order of the rows; `attempts` are keyed by id."""
    names = {login_of(row.student): {row.student, *filter(None, (row.name,))} for row in rows}
    for row in rows:
        own = names[login_of(row.student)]
        others = {name for some in names.values() for name in some} - own
        yield _view(row, attempts, Forbidden(others))


def without_paths(text: str) -> str:
    """Shorten each absolute path to its last name."""
    return _PATH.sub(lambda found: found[1] or "…", text)


def _view(row: FinalRow, attempts: Mapping[str, Attempt], others: Forbidden) -> StudentsView:
    def hidden(text: str) -> str:
        return others.without(without_paths(text))

    cells = tuple(_cell(cell, hidden) for cell in row.cells)
    results = {
        cell.exercise: _cleaned(attempt.result, hidden)
        for cell in row.cells
        if (attempt := attempts.get(cell.attempt)) is not None
        and login_of(attempt.student) == login_of(row.student)
    }
    kept = replace(row, cells=cells, notes=(), ids={}, group="", section="")
    return StudentsView(kept, results)


def _cell(cell: FinalCell, hidden: Callable[[str], str]) -> FinalCell:
    return replace(cell, reason=hidden(cell.reason))


def _cleaned(result: Result, hidden: Callable[[str], str]) -> Result:
    bare = result.model_copy(update={"output": "", "walls": ()})
    return parse_result(json.dumps(_walked(json.loads(result_json(bare)), hidden)))


def _walked(value: Any, hidden: Callable[[str], str], field: str = "") -> Any:
    if isinstance(value, str):
        return hidden(value) if field in _SENTENCES else without_paths(value)
    if isinstance(value, Collection):
        if isinstance(value, Mapping):
            return {name: _walked(one, hidden, name) for name, one in value.items()}
        return [_walked(one, hidden) for one in value]
    return value
