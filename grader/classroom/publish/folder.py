"""A folder of published solutions: written as a whole, and replaced only by the same course."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from grader.classroom.publish import records, sources
from grader.classroom.publish.records import PublishedSolution, Solutions
from grader.course import COMMENTARY
from grader.model import BrokenExercise, UsageError, fill_folder, replacing_folder


@dataclass(frozen=True)
class Shown:
    """One solution as a learner sees it; `commentary` is Markdown, and may be empty.

    `others` are the files of further solutions.
    """

    name: str
    title: str
    source: str
    commentary: str
    others: tuple[str, ...] = ()
    file: str = "kernel.py"


def write(out: Path, files: Mapping[str, str], record: Solutions) -> None:
    """Make `out` a folder of the record and these files, given by their paths in it.

    It replaces an earlier publication of the same course. Raises UsageError, and changes nothing,
    where `out` is anything else.
    """
    require_free(out, record.course)
    try:
        with replacing_folder(out) as new:
            fill_folder(new, {**files, records.FILE: records.to_json(record)})
    except OSError as error:
        raise UsageError(
            f"The folder {out} cannot be written: {error.strerror}.",
            "Give --out a folder in one that exists and where you may write.",
        ) from None


def require_free(out: Path, course: str) -> None:
    """Raise UsageError where `out` holds anything but an earlier publication of the course."""
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        raise UsageError(f"{out} is not a folder.", "Give --out another name.")
    if not any(out.iterdir()):
        return
    elsewhere = "Give --out a folder that is empty or not there, or empty this one yourself."
    if not (out / records.FILE).is_file():
        raise UsageError(f"{out} has content that no publication made.", elsewhere)
    record = read(out)
    there = {
        path.relative_to(out).as_posix()
        for path in out.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    if record.course != course:
        raise UsageError(
            f"{out} holds the solutions of another course, {record.course!r}.", elsewhere
        )
    if foreign := sorted(there - {*record.files, records.FILE}):
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise UsageError(
            f"{out} holds what no publication made: {foreign[0]!r}{more}.",
            "Move it elsewhere: publishing replaces the folder as a whole.",
        )


def read(folder: Path) -> Solutions:
    """Read the record of a folder of published solutions. Raises UsageError."""
    path = folder / records.FILE
    try:
        return records.from_json(path.read_bytes())
    except OSError:
        raise UsageError(
            f"{folder} holds no published solutions: there is no {records.FILE}.",
            "Name the folder that `grader solutions publish` wrote, or your copy of it.",
        ) from None
    except ValidationError:
        raise UsageError(
            f"{path} is not a record of published solutions that this version reads.",
            "Copy the folder again, or update kernel-grader.",
        ) from None


def solution(folder: Path, entry: PublishedSolution, file: str | None = None) -> Shown:
    """Read one of its solutions: the lesson's, or another `file` of the exercise.

    Raises UsageError when it was changed since publication, or is none of the exercise's.
    """
    if file is not None:
        return _further(folder, entry, file)
    source = _unchanged(folder / entry.name / "kernel.py", entry.sha256)
    commentary = ""
    if entry.commentary is not None:
        commentary = _unchanged(folder / entry.name / COMMENTARY, entry.commentary)
    others = tuple(one.file for one in entry.further)
    return Shown(entry.name, entry.title, source, commentary, others)


def _further(folder: Path, entry: PublishedSolution, file: str) -> Shown:
    known = {one.file: one for one in entry.further}
    if file not in known:
        raise no_such_file(entry.name, file, list(known))
    one = known[file]
    source, text = _unchanged(folder / entry.name / file, one.sha256), ""
    if one.text is not None:
        text = _unchanged((folder / entry.name / file).with_suffix(".md"), one.text)
    return Shown(entry.name, entry.title, source, text, file=file)


def no_such_file(name: str, file: str, known: Sequence[str]) -> UsageError:
    return UsageError(
        f"{name} has no solution {file!r} beside kernel.py.",
        f"It has {', '.join(known)}." if known else "It has no other: leave out --file.",
    )


def _unchanged(path: Path, sha256: str) -> str:
    try:
        text = sources.text_of(path)
    except BrokenExercise as error:
        raise UsageError(error.message, "Copy the folder of solutions again.") from None
    if sources.digest(text) != sha256:
        raise UsageError(
            f"{path} was changed since it was published: it is not what {records.FILE} names.",
            "Copy the folder of solutions again.",
        )
    return text
