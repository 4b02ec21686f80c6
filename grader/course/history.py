"""`.grader/results/NAME/`: the results of a learner's own checks of an exercise, a file for each.

The newest ones are kept, and beside the last one the picture of its failing case. They are the
learner's own memory, as `.grader/progress.json` is, and prove nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from grader.model import (
    Result,
    Trace,
    parse_result,
    parse_trace,
    result_json,
    trace_json,
    write_file,
)

FOLDER = "results"
MOST_KEPT = 50  # results of an exercise
LARGEST = 8 << 20  # bytes of a file; a result has about 10 kB
RESULT, PICTURE = ".json", ".picture"

T = TypeVar("T")


@dataclass(frozen=True)
class History:
    """The checks of one exercise that are kept, oldest first.

    `picture` traces the failing case of the last check, where one was drawn. `unreadable` counts
    the files that are not results.
    """

    results: tuple[Result, ...] = ()
    picture: Trace | None = None
    unreadable: int = 0


def keep(state: Path, result: Result) -> None:
    """Keep a result, and of its exercise the newest MOST_KEPT. Raises OSError.

    `state` is the folder `.grader` of a course, here and below.
    """
    folder = _folder(state, result.exercise)
    folder.mkdir(parents=True, exist_ok=True)
    # Names sort by time; two checks that end at once differ in the last part.
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    write_file(folder / f"{now}-{secrets.token_hex(2)}{RESULT}", result_json(result))
    for old in _results(folder)[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    for picture in folder.glob(f"*{PICTURE}"):  # of a check before this one
        picture.unlink(missing_ok=True)


def keep_picture(state: Path, trace: Trace) -> None:
    """Keep the picture of the last result of its exercise; does nothing where it cannot."""
    folder = _folder(state, trace.exercise)
    with suppress(OSError, IndexError):
        write_file(_results(folder)[-1].with_suffix(PICTURE), trace_json(trace))


def read(state: Path, name: str, most: int = MOST_KEPT) -> History:
    """Read the newest results of an exercise, at most so many. Raises nothing."""
    files = _results(_folder(state, name))[-most:]
    results = [_parsed(file, parse_result) for file in files]
    picture = _parsed(files[-1].with_suffix(PICTURE), parse_trace) if files else None
    known = tuple(one for one in results if one is not None)
    return History(known, picture, len(results) - len(known))


def _folder(state: Path, name: str) -> Path:
    return state / FOLDER / name.partition(":")[0]


def _results(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{RESULT}"))


def _parsed(file: Path, parse: Callable[[bytes], T]) -> T | None:
    with suppress(OSError, ValueError):
        if file.is_file() and file.stat().st_size <= LARGEST:
            return parse(file.read_bytes())
    return None
