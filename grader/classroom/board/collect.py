"""From files and folders to attempts, each counted once, in as many processes as pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path

from grader.classroom import documents, parallel
from grader.classroom.board.entries import Context, Entry, Reader
from grader.classroom.documents import Problem, Read

BATCH = 4 << 20  # bytes that a process is given at a time
WORTH_PROCESSES = 4  # batches: fewer are read by one process before others start
LESS_THAN_A_FILE = 4096  # what opening a file costs, in bytes that are read meanwhile


@dataclass(frozen=True)
class Collected:
    """Attempts in an order that does not depend on that of the files, and what is told of them."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]


def collect(paths: Sequence[Path], context: Context) -> Collected:
    """Raises UsageError for a path that is not there."""
    files, problems = documents.files(paths)
    whole: Read[Entry] = Read(problems=problems)
    batches = list(_batches(files))
    read = partial(_read_files, Reader(context))
    for part in parallel.results(read, batches, worth_it=len(batches) >= WORTH_PROCESSES):
        whole.add(part)
    entries, repeated = _each_once(whole.found)
    return Collected(tuple(entries), (*whole.problems, *repeated))


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


def _read_files(reader: Reader, paths: Sequence[Path]) -> Read[Entry]:
    whole: Read[Entry] = Read()
    for path in paths:
        whole.add(documents.read_file(path, reader.entries))
    return whole


def _each_once(found: Sequence[tuple[str, Entry]]) -> tuple[list[Entry], list[Problem]]:
    """The attempts that count, oldest first, whatever the order of the files.

    Those that were handed in at one time, as one commit that is graded again, are in the order of
    their grading. Of those with one id a signed one counts, then the oldest.
    """
    times = Counter(entry.id for _, entry in found)
    entries = [entry for _, entry in found if times[entry.id] == 1]
    several = [one for one in found if times[one[1].id] > 1]
    kept: dict[str, tuple[str, Entry]] = {}
    problems: list[Problem] = []
    for place, entry in sorted(several, key=lambda one: _precedence(one[1])):
        where, counts = kept.setdefault(entry.id, (place, entry))
        if counts is entry:
            continue
        if counts.digest == entry.digest:
            reason = f"it is the same attempt as in {where}, and counted once"
        else:
            reason = f"a replay: it has the id of the attempt in {where}, and another text"
        problems.append(Problem(place, reason))
    entries += (entry for _, entry in kept.values())
    return sorted(entries, key=attrgetter("when", "graded", "id")), problems


def _precedence(entry: Entry) -> tuple[bool, str, str]:
    return (not entry.signed, entry.when, entry.digest)
