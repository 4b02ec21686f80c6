"""The attempts of a class that count in other systems, and one chosen of many.

A bare result names no student: it is taken to be of whoever its file is called after, as in
`ada.jsonl`. A problem names files of which that makes one student of several.
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
    """Which of several attempts of one student at one exercise counts."""

    BEST = "best"
    LAST = "last"


@dataclass(frozen=True)
class Kept:
    """Attempts in the order in which they were handed in, and what is left out, with its place.

    Names of students are left out, too, where several files of bare results are called alike.
    """

    attempts: tuple[Attempt, ...]
    problems: tuple[str, ...]


def read(paths: Sequence[Path], context: Context) -> Kept:
    """Return the attempts in files and folders, as far as they count in this context.

    With trusted keys only signed ones count. Raises UsageError for a path that is not there.
    """
    unsigned = not context.trusted
    reading = Reader(context, unsigned=unsigned, bare=unsigned)
    whole = documents.read(paths, lambda path: partial(reading.read, path))
    found, repeated = reader.each_once(whole.found)
    bare: dict[str, set[Path]] = {}
    for _, one in whole.found:
        if one.file is not None:
            bare.setdefault(login_of(one.file.stem), set()).add(one.file)
    problems = documents.told([*whole.problems, *repeated])
    problems += (_nameless(files) for files in bare.values() if len(files) > 1)
    return Kept(tuple(_one_spelling(one.attempt for one in found)), tuple(problems))


def _nameless(files: Collection[Path]) -> str:
    """Name files of bare results that are called alike: `results.jsonl` of ada's, and of bob's."""
    first = min(files)
    return (
        f"whose results {len(files):,} files have, such as {quoted(str(first), 200)}: they name no "
        f"student, and were all taken to be of {quoted(first.stem)}; call each file after its "
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
    """The attempts, those that a teacher took back with the reason in place of points.

    `reasons` are by the attempt's id. As on a board they show nobody's login.
    """
    forbidden = Forbidden({attempt.student for attempt in attempts})
    return [
        _taken_back(attempt, forbidden.without(texts.clean_line(reasons[attempt.id])))
        if attempt.id in reasons
        else attempt
        for attempt in attempts
    ]


def _taken_back(attempt: Attempt, reason: str) -> Attempt:
    """It fails with 0 points, and is not missing: points that were exported before are replaced."""
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
    """One attempt for each student and exercise.

    One that could be graded counts before those that were taken back, whose ids are given, and
    these before the others. The best has the most points, and of equals is the first. `attempts`
    are in order of time.
    """

    def weight(attempt: Attempt) -> int:
        if attempt.id in taken_back:
            return 1
        return 2 if EXIT_CODES[attempt.result.status] in (0, 1) else 0

    def counts_before(later: Attempt, earlier: Attempt) -> bool:
        if weight(later) != weight(earlier):
            return weight(later) > weight(earlier)
        return keep is Keep.LAST or later.result.points > earlier.result.points

    kept: dict[tuple[str, str], Attempt] = {}
    for attempt in attempts:
        key = attempt.student, attempt.result.exercise
        if key not in kept or counts_before(attempt, kept[key]):
            kept[key] = attempt
    return list(kept.values())
