"""The state of a run in the middle of its work, for somebody who watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """The units of one exercise."""

    name: str
    total: int
    graded: int
    passed: int


@dataclass(frozen=True)
class RunState:
    """A run in the middle of its work, for whoever watches. Counts are of units."""

    total: int
    before: int  # graded by an earlier run
    done: int  # graded or given up by this one
    given_up: int
    running: Mapping[str, str]  # what is running, keyed by the worker's name
    workers: str  # in words
    elapsed_s: float
    left_s: float | None  # None: not known yet
    exercises: tuple[Counts, ...] = ()
    said: tuple[str, ...] = ()  # the last sentences that were worth knowing
