"""From files and folders to attempts, each counted once, in as many processes as pay."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from grader import documents
from grader.board.entries import Context, Entry, Reader
from grader.documents import Problem, Read

WORTH_A_PROCESS = 16 << 20  # bytes below which one process reads them all
BATCH = 4 << 20  # bytes that a process is given at a time
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
    for read in _read_all(files, context):
        whole.add(read)
    entries, repeated = _each_once(whole.found)
    return Collected(tuple(entries), (*whole.problems, *repeated))


def _read_all(files: Sequence[tuple[Path, int]], context: Context) -> Iterable[Read[Entry]]:
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


def _read_batch(paths: Sequence[Path]) -> Read[Entry]:
    return _read_files(paths, _reader)


def _read_files(paths: Sequence[Path], reader: Reader) -> Read[Entry]:
    whole: Read[Entry] = Read()
    for path in paths:
        whole.add(documents.read_file(path, reader.entries))
    return whole


def _each_once(found: Sequence[tuple[str, Entry]]) -> tuple[list[Entry], list[Problem]]:
    """The attempts that count, oldest first, whatever the order of the files.

    Of those with one id a signed one counts, then the oldest.
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
    return sorted(entries, key=attrgetter("when", "id")), problems


def _precedence(entry: Entry) -> tuple[bool, str, str]:
    return (not entry.signed, entry.when, entry.digest)
