"""Pairs and clusters of alike files, among the students' files for one exercise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

from grader.classroom.similarity.fingerprints import Runs, runs
from grader.classroom.similarity.records import Cluster, Comparison, Pair, Source
from grader.classroom.similarity.symbols import Unreadable, symbols

# Calibrated by bench/similarity.py.
SHARE = 0.5  # of the shorter file's fingerprints, from which two files are a pair
FEWEST = 12  # fingerprints of a file that is compared
# A passage in so many files is the usual way to write it: a number, and a share of the class.
COMMON, COMMON_SHARE = 8, 0.1


@dataclass(frozen=True)
class _File:
    source: Source
    symbols: tuple[str, ...]
    runs: Runs
    kept: frozenset[int] = frozenset()


def compare(
    exercise: str,
    title: str,
    sources: Sequence[Source],
    given: Sequence[str],
    share: float = SHARE,
) -> Comparison:
    """Compare every two files of one exercise.

    `given` are texts that every student had or may have seen: stub, solutions, code of the lesson.
    What they hold is ignored, and so is a passage in more than COMMON files.
    """
    read: list[_File] = []
    unread = []
    for source in sources:
        try:
            read.append(_File(source, *_read(source.text)))
        except Unreadable as error:
            unread.append(f"{source.student}: {error}")
    known = frozenset[int]().union(*map(_runs_of, given))
    ignored = known | _common(read)
    files = [replace(one, kept=one.runs.kept(ignored)) for one in read]
    long = [one for one in files if len(one.kept) >= FEWEST]
    short = [one.source.student for one in files if len(one.kept) < FEWEST]
    pairs = sorted(
        _pairs(long, ignored, share), key=lambda pair: (-pair.share, -pair.shared, pair.students)
    )
    return Comparison(
        exercise=exercise,
        title=title,
        compared=len(long),
        pairs=tuple(pairs),
        clusters=tuple(_clusters(exercise, pairs)),
        short=tuple(short),
        unread=tuple(unread),
    )


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[tuple[str, ...], Runs]:
    found = symbols(text)
    return tuple(one.text for one in found), runs(found)


def _runs_of(text: str) -> frozenset[int]:
    try:
        return frozenset(_read(text)[1].hashes)
    except Unreadable:
        return frozenset()  # a fragment of a lesson that is not complete Python


def _common(files: Sequence[_File]) -> frozenset[int]:
    """Return the runs that more than COMMON students have, or COMMON_SHARE of a large class."""
    by_owner: dict[str, set[int]] = {}
    for one in files:
        by_owner.setdefault(one.source.owner, set()).update(one.runs.hashes)
    most = max(COMMON, COMMON_SHARE * len(by_owner))
    seen = Counter(run for own in by_owner.values() for run in own)
    return frozenset(run for run, count in seen.items() if count > most)


def _pairs(files: Sequence[_File], ignored: frozenset[int], least: float) -> Iterator[Pair]:
    for first, second in combinations(files, 2):
        if first.source.owner == second.source.owner:
            continue
        shared = first.kept & second.kept
        share = len(shared) / min(len(first.kept), len(second.kept))
        if share >= least:
            both = frozenset(first.runs.hashes) & frozenset(second.runs.hashes) - ignored
            yield Pair(
                exercise=first.source.exercise,
                students=(first.source.student, second.source.student),
                texts=(first.source.text, second.source.text),
                lines=(first.runs.lines_of(both), second.runs.lines_of(both)),
                shared=len(shared),
                share=share,
                identical=first.symbols == second.symbols,
            )


def _clusters(exercise: str, pairs: Sequence[Pair]) -> Iterator[Cluster]:
    group_of: dict[str, set[str]] = {}
    for pair in pairs:
        joined = set().union(*(group_of.get(student, {student}) for student in pair.students))
        group_of |= dict.fromkeys(joined, joined)
    groups = {id(group): group for group in group_of.values()}.values()
    for group in sorted(groups, key=lambda one: (-len(one), sorted(one))):
        share = max(pair.share for pair in pairs if set(pair.students) <= group)
        yield Cluster(exercise, tuple(sorted(group)), share)
