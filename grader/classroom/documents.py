"""Reader of JSON texts in files and folders: a bad text does not stop the others.

Anybody may have written these files. A file holds one JSON text, or one on each line. Folders are
searched at all depths for `*.json` and `*.jsonl`; links are not followed. Every text that cannot be
used is reported with its place and the reason.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Generic, TypeVar

from grader.model import UsageError, quoted

T = TypeVar("T")

ENDINGS = (".json", ".jsonl")
LARGEST = 8 << 20  # bytes of one text; a signed run of a whole course has about 100 kB
BUFFER = 64 << 10  # bytes read at a time: the lines of signed runs are long
MOST_REASONS = 100  # texts of one file that are reported with a reason of their own
MOST_ALIKE = 3  # texts with the same reason that repeat it


class Unusable(Exception):
    """A text, or a part of it, that is left out; `str(error)` is the reason."""


@dataclass(frozen=True)
class Problem:
    """One or more texts that are left out, with their place and the reason."""

    place: str
    reason: str
    count: int = 1

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass
class Read(Generic[T]):
    """Things from files, each with its place, in the order of the files."""

    things: list[tuple[str, T]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: Read[T]) -> None:
        self.things += other.things
        self.problems += other.problems


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """Return a line for each problem; more than MOST_ALIKE with one reason share its sentence.

    Their first line counts them, and the others name their places.
    """
    by_reason: dict[str, list[Problem]] = {}
    for problem in problems:
        by_reason.setdefault(problem.reason, []).append(problem)
    lines: list[str] = []
    for reason, alike in by_reason.items():
        if len(alike) <= MOST_ALIKE:
            lines += map(str, alike)
        else:
            lines.append(f"{alike[0].place} and {len(alike) - 1:,} more: {reason}")
            lines += (f"    and {problem.place}" for problem in alike[1:])
    return lines


# Turns a text into things to use, and an Unusable for each part that is none. May raise Unusable.
Reader = Callable[[bytes], Iterable[T | Unusable]]


def schema_of(text: bytes) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unusable("it is no whole JSON: it may have been cut off") from None
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, str):
        raise Unusable("it is not a record of this grader: it has no schema")
    return schema


def files(
    paths: Sequence[Path], endings: tuple[str, ...] = ENDINGS
) -> tuple[list[tuple[Path, int]], list[Problem]]:
    """List each file once, with its size in bytes, by name, and the entries that are not files.

    Of folders it lists files with these endings. Raises UsageError for a path that is not there.
    """
    by_path: dict[str, tuple[Path, int]] = {}
    problems: list[Problem] = []
    for path in _walked(paths, endings, problems):
        try:
            status = path.lstat()
        except OSError as error:
            problems.append(unreadable(path, error))
            continue
        if stat.S_ISREG(status.st_mode):
            by_path.setdefault(os.path.abspath(path), (path, status.st_size))
        else:
            what = "a link, and links are not followed" if path.is_symlink() else "not a plain file"
            problems.append(Problem(_name(path), f"it is {what}"))
    return [by_path[name] for name in sorted(by_path)], problems


def _walked(
    paths: Sequence[Path], endings: tuple[str, ...], problems: list[Problem]
) -> Iterator[Path]:
    """Yield files and links, of folders too; add folders that cannot be read to `problems`."""

    def note(error: OSError) -> None:
        problems.append(unreadable(Path(error.filename), error))

    for path in paths:
        if not os.path.isdir(path):
            if not os.path.lexists(path):
                raise UsageError(f"There is no file or folder {path}.", "Name one that is there.")
            yield path
            continue
        for folder, inner, names in os.walk(path, onerror=note):
            yield from (Path(folder, name) for name in names if name.endswith(endings))
            yield from filter(Path.is_symlink, (Path(folder, name) for name in inner))


def unreadable(path: Path, error: OSError) -> Problem:
    return Problem(_name(path), f"it cannot be read: {error.strerror}")


def _name(path: Path) -> str:
    return quoted(str(path), 200)


def read(paths: Sequence[Path], reader: Callable[[Path], Reader[T]]) -> Read[T]:
    """Read files and folders; `reader` returns the reader for the texts of a file.

    Raises UsageError for a path that is not there.
    """
    listed, problems = files(paths)
    whole: Read[T] = Read(problems=problems)
    for path, _ in listed:
        whole.add(read_file(path, reader(path)))
    return whole


def read_file(path: Path, reader: Reader[T]) -> Read[T]:
    name, seen, left_out = _name(path), 0, 0
    whole: Read[T] = Read()
    try:
        for number, text in texts(path):
            seen += 1
            place = name if number is None else f"{name}, line {number}"
            for part in _parts(text, reader):
                if not isinstance(part, Unusable):
                    whole.things.append((place, part))
                    continue
                left_out += 1
                if left_out <= MOST_REASONS:
                    whole.problems.append(Problem(place, str(part)))
    except OSError as error:
        whole.problems.append(unreadable(path, error))
        return whole
    if not seen:
        whole.problems.append(Problem(name, "it is empty"))
    if left_out > MOST_REASONS:
        more = left_out - MOST_REASONS
        whole.problems.append(Problem(name, f"{more:,} more of its lines cannot be used", more))
    return whole


def _parts(text: bytes | None, reader: Reader[T]) -> Iterator[T | Unusable]:
    if text is None:
        yield Unusable(f"it is longer than {LARGEST:,} bytes")
        return
    try:
        yield from reader(text)
    except Unusable as error:
        yield error


def texts(path: Path) -> Iterator[tuple[int | None, bytes | None]]:
    """Yield the JSON texts of a file: its lines with their numbers, or the whole file as one text.

    A file whose first line is a whole object is read line by line. A text beyond LARGEST bytes is
    None. Raises OSError.
    """
    with path.open("rb", buffering=BUFFER) as file:
        first = file.readline(LARGEST + 1).strip()
        file.seek(0)
        of_lines = path.suffix == ".jsonl" or (first.startswith(b"{") and first.endswith(b"}"))
        if not of_lines:
            text = file.read(LARGEST + 1)
            if text.strip():
                yield None, text if len(text) <= LARGEST else None
            return
        for number in count(1):
            line = file.readline(LARGEST + 1)
            if not line:
                return
            if len(line) > LARGEST:
                while line and not line.endswith(b"\n"):
                    line = file.readline(LARGEST)
                yield number, None
            elif line.strip():
                yield number, line
