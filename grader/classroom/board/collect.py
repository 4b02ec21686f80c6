"""Reader of a class's attempts, each counted once, in several processes where that is faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.classroom import documents, parallel
from grader.classroom.attempts import Context, Reader, each_once
from grader.classroom.board.entries import Entry, entry
from grader.classroom.documents import Problem, Read, Unusable
from grader.model import begun

BATCH = 4 << 20  # bytes that a process is given at a time
WORTH_PROCESSES = 4  # batches: one process reads fewer before others have started
OPENING_BYTES = 4096  # the cost of opening a file, in bytes that are read in the same time


@dataclass(frozen=True)
class Collected:
    """Attempts, in an order that does not depend on the files', and the texts left out."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]


def collect(paths: Sequence[Path], context: Context) -> Collected:
    """Read attempts from files and folders. Raises UsageError for a path that is not there."""
    files, problems = documents.files(paths)
    whole: Read[Entry] = Read(problems=problems)
    batches = list(_batches(files))
    read = partial(_read_files, Reader(context, unsigned=True))
    for part in parallel.results(read, batches, worth_it=len(batches) >= WORTH_PROCESSES):
        whole.add(part)
    entries, repeated = each_once(whole.things)
    return Collected(tuple(entries), (*whole.problems, *repeated))


def _batches(files: Sequence[tuple[Path, int]]) -> Iterator[list[Path]]:
    batch: list[Path] = []
    held = 0
    for path, size in files:
        batch.append(path)
        held += size + OPENING_BYTES
        if held >= BATCH:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _read_files(reader: Reader, paths: Sequence[Path]) -> Read[Entry]:
    whole: Read[Entry] = Read()
    for path in paths:
        whole.add(documents.read_file(path, partial(_entries, reader, path)))
    return whole


def _entries(reader: Reader, path: Path, document: bytes) -> Iterator[Entry | Unusable]:
    for attempt in reader.read(path, document):
        if isinstance(attempt, Unusable):
            yield attempt
        elif begun(attempt.attempt.result):  # a graded stub is not an attempt
            yield entry(attempt, reader.context)
