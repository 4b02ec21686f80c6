"""Kernels that are compared, and what two of them share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One student's file for one exercise. Students of one `team` hand in together."""

    student: str
    exercise: str
    text: str
    team: str = ""

    @property
    def owner(self) -> str:
        return self.team or self.student


@dataclass(frozen=True)
class Pair:
    """Two files that share much. `share` is of the shorter one; lines are counted from 1."""

    exercise: str
    students: tuple[str, str]
    texts: tuple[str, str]
    lines: tuple[frozenset[int], frozenset[int]]  # those with something shared
    shared: int  # fingerprints
    share: float
    identical: bool  # but for names, comments and formatting


@dataclass(frozen=True)
class Cluster:
    """Students of whom each is in a pair with another of them."""

    exercise: str
    students: tuple[str, ...]
    share: float  # the largest of a pair


@dataclass(frozen=True)
class Comparison:
    """One exercise: its pairs, the most alike first, and the files that were not compared.

    `short` are files that hold too little beyond what every student was given.
    """

    exercise: str
    title: str
    compared: int
    pairs: tuple[Pair, ...]
    clusters: tuple[Cluster, ...]
    short: tuple[str, ...]
    unread: tuple[str, ...]  # a student and the reason, in one sentence
