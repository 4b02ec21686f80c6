"""The attempts of a class that count in other systems, and the choice of one of many.

A bare result names no student: its file's name is the login, as in `ada.jsonl`. Files with the same
name in several folders would make one student of several, and are reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from grader.classroom import attempts as reader
from grader.classroom import documents
from grader.classroom.attempts import Context, Reader
from grader.classroom.board.forbidden import Forbidden
from grader.model import EXIT_CODES, Attempt, Status, login_of, quoted, texts


class Keep(StrEnum):
    """The attempt that counts, of several of one student at one exercise."""

    BEST = "best"
    LAST = "last"


@dataclass(frozen=True)
class Gradebook:
    """Attempts in the order of their submission, and a line for each problem with its place."""

    attempts: tuple[Attempt, ...]
    problems: tuple[str, ...]


def read(paths: Sequence[Path], context: Context) -> Gradebook:
    """Return the attempts in files and folders that count in this context.

    With trusted keys only signed ones count. Raises UsageError for a path that is not there.
    """
    unsigned = not context.trusted
    reading = Reader(context, unsigned=unsigned, bare=unsigned)
    whole = documents.read(paths, lambda path: partial(reading.read, path))
    counted, repeated = reader.each_once(whole.things)
    bare: dict[str, set[Path]] = {}
    for _, one in whole.things:
        if one.file is not None:
            bare.setdefault(login_of(one.file.stem), set()).add(one.file)
    problems = documents.problem_lines([*whole.problems, *repeated])
    problems += (_nameless(files) for files in bare.values() if len(files) > 1)
    return Gradebook(tuple(_one_spelling(one.attempt for one in counted)), tuple(problems))


def _nameless(files: Collection[Path]) -> str:
    first = min(files)
    return (
        f"the students of {len(files):,} files such as {quoted(str(first), 200)}: the files name "
        f"none, and all their results count for {quoted(first.stem)}; name each file after its "
        "student, or have `grader ci` report attempts, which name the student"
    )


def _one_spelling(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    """Give all attempts of one student the login of the first."""
    spelt: dict[str, str] = {}
    for attempt in attempts:
        student = spelt.setdefault(login_of(attempt.student), attempt.student)
        same = attempt.student == student
        yield attempt if same else attempt.model_copy(update={"student": student})


def decided(attempts: Sequence[Attempt], reasons: Mapping[str, str]) -> list[Attempt]:
    """Return the attempts; one that a teacher took back has the reason in place of points.

    `reasons` are by the attempt's id. As on a board, logins in them are hidden.
    """
    forbidden = Forbidden({attempt.student for attempt in attempts})
    return [
        _taken_back(attempt, forbidden.without(texts.clean_line(reasons[attempt.id])))
        if attempt.id in reasons
        else attempt
        for attempt in attempts
    ]


def _taken_back(attempt: Attempt, reason: str) -> Attempt:
    # It fails with 0 points, rather than being left out: that replaces points exported before.
    changed = {
        "status": Status.FAIL,
        "points": 0,
        "steps": (),
        "sanitized": (),
        "message": f"This attempt was taken back: {reason}",
    }
    return attempt.model_copy(update={"result": attempt.result.model_copy(update=changed)})


def chosen(
    attempts: Sequence[Attempt], keep: Keep, taken_back: Collection[str] = ()
) -> list[Attempt]:
    """Choose one attempt for each student and exercise.

    A graded one comes before those that were taken back, whose ids are given, and these come before
    attempts that could not be graded. The best has the most points; of equals, the first counts.
    `attempts` are in order of time.
    """

    def weight(attempt: Attempt) -> int:
        if attempt.id in taken_back:
            return 1
        return 2 if EXIT_CODES[attempt.result.status] in (0, 1) else 0

    def counts_before(later: Attempt, earlier: Attempt) -> bool:
        if weight(later) != weight(earlier):
            return weight(later) > weight(earlier)
        return keep is Keep.LAST or later.result.points > earlier.result.points

    counted: dict[tuple[str, str], Attempt] = {}
    for attempt in attempts:
        key = attempt.student, attempt.result.exercise
        if key not in counted or counts_before(attempt, counted[key]):
            counted[key] = attempt
    return list(counted.values())
