"""From files and folders to attempts, each counted once, and to the reasons for what is left out.

What anybody may have written is read here: nothing of it stops the rest, and nothing is left out
in silence. Folders are read in all depths, for `*.json` and `*.jsonl`; links are not followed.
"""

from __future__ import annotations

import multiprocessing
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from grader.board.entries import Context, Entry, Reader, Unusable, shown
from grader.errors import UsageError

ENDINGS = (".json", ".jsonl")
LARGEST = 1 << 20  # bytes of one document; the longest of the course's own have some thousands
MOST_TOLD = 100  # documents of one file that are named one by one
WORTH_A_PROCESS = 16 << 20  # bytes below which one process reads them all
BATCH = 4 << 20  # bytes that a process is given at a time
LESS_THAN_A_FILE = 4096  # what opening a file costs, in bytes that are read meanwhile


@dataclass(frozen=True)
class Problem:
    """Something that is left out or that a teacher should know, with its place and the reason."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True)
class Collected:
    """Attempts in an order that does not depend on that of the files, and what is told of them."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]


@dataclass
class _Read:
    """What stands in some files: attempts with their places, in the order of the files."""

    entries: list[tuple[str, Entry]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def collect(paths: Sequence[Path], context: Context) -> Collected:
    """Raises UsageError for a path that is not there."""
    files, problems = _files(paths)
    found = _Read(problems=problems)
    for read in _read_all(files, context):
        found.entries += read.entries
        found.problems += read.problems
    entries, repeated = _each_once(found.entries)
    return Collected(tuple(entries), (*found.problems, *repeated))


def _files(paths: Sequence[Path]) -> tuple[list[tuple[Path, int]], list[Problem]]:
    """Each file once, with its size in bytes, in the order of its name."""
    found: dict[str, tuple[Path, int]] = {}
    problems: list[Problem] = []
    for path in _walked(paths):
        try:
            status = path.lstat()
        except OSError as error:
            problems.append(Problem(_name(path), f"it cannot be read: {error.strerror}"))
            continue
        if stat.S_ISREG(status.st_mode):
            found.setdefault(os.path.abspath(path), (path, status.st_size))
        else:
            what = "a link, and links are not followed" if path.is_symlink() else "no plain file"
            problems.append(Problem(_name(path), f"it is {what}"))
    return [found[name] for name in sorted(found)], problems


def _name(path: Path) -> str:
    """A path for a message. Those of a class are hostile text, too."""
    return shown(str(path), 200)


def _walked(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            if not os.path.lexists(path):
                raise UsageError(
                    f"There is no file or folder {path}.", "Name where the results lie."
                )
            yield path
            continue
        for folder, _, names in os.walk(path):
            yield from (Path(folder, name) for name in names if name.endswith(ENDINGS))


def _read_all(files: Sequence[tuple[Path, int]], context: Context) -> Iterable[_Read]:
    """In as many processes as there are cores, where that is worth it."""
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or sum(size for _, size in files) < WORTH_A_PROCESS:
        yield _read_files([path for path, _ in files], Reader(context))
        return
    with ProcessPoolExecutor(
        cores,
        # A fork would copy this process's threads' locks as they are; these start anew.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(context,),
    ) as pool:
        yield from pool.map(_read_batch, _batches(files))


def _batches(files: Sequence[tuple[Path, int]]) -> Iterator[list[Path]]:
    batch: list[Path] = []
    held = 0
    for path, size in files:
        batch.append(path)
        held += size + LESS_THAN_A_FILE
        if held >= BATCH:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


_reader: Reader  # of a process of the pool


def _start(context: Context) -> None:
    global _reader
    _reader = Reader(context)


def _read_batch(paths: Sequence[Path]) -> _Read:
    return _read_files(paths, _reader)


def _read_files(paths: Sequence[Path], reader: Reader) -> _Read:
    read = _Read()
    for path in paths:
        _read_file(path, reader, read)
    return read


def _read_file(path: Path, reader: Reader, read: _Read) -> None:
    """Add what stands in a file."""
    name, seen, left_out = _name(path), 0, 0
    try:
        for number, document in documents(path):
            seen += 1
            place = name if number is None else f"{name}, line {number}"
            try:
                if document is None:
                    raise Unusable(f"it is longer than {LARGEST:,} bytes")
                read.entries.append((place, reader.entry(document)))
            except Unusable as error:
                left_out += 1
                if left_out <= MOST_TOLD:
                    read.problems.append(Problem(place, str(error)))
    except OSError as error:
        read.problems.append(Problem(name, f"it cannot be read: {error.strerror}"))
        return
    if not seen:
        read.problems.append(Problem(name, "it is empty"))
    if left_out > MOST_TOLD:
        more = left_out - MOST_TOLD
        read.problems.append(Problem(name, f"{more:,} more of its lines cannot be used"))


def documents(path: Path) -> Iterator[tuple[int | None, bytes | None]]:
    """The JSON texts of a file: its lines with their numbers, or the whole where it is one text.

    A file whose first line is a whole object is read line by line. None stands for a text beyond
    LARGEST bytes. Raises OSError.
    """
    with path.open("rb") as file:
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


def _each_once(found: Iterable[tuple[str, Entry]]) -> tuple[list[Entry], list[Problem]]:
    """The attempts that count, oldest first, whatever the order of the files.

    Of those with one id a signed one counts, then the oldest.
    """
    kept: dict[str, tuple[str, Entry]] = {}
    problems: list[Problem] = []
    for place, entry in sorted(found, key=lambda one: _precedence(one[1])):
        where, counts = kept.setdefault(entry.id, (place, entry))
        if counts is entry:
            continue
        if counts.digest == entry.digest:
            reason = f"it is the same attempt as in {where}, and counted once"
        else:
            reason = f"a replay: it has the id of the attempt in {where}, and another text"
        problems.append(Problem(place, reason))
    return sorted((one for _, one in kept.values()), key=lambda e: (e.when, e.id)), problems


def _precedence(entry: Entry) -> tuple[bool, str, str]:
    return (not entry.signed, entry.when, entry.digest)
