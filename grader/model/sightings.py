"""The record of a call that a simulated device was asked to watch: which line touches what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.model import wire
from grader.model.traced import MOST_LAUNCHES, LaunchRef, read_launch

# Lines with their arguments, and runs of elements, in one report.
MOST_TOUCHED, MOST_RUNS = 64, 4096
TOUCHES = ("read", "write", "update")


@dataclass(frozen=True)
class Touched:
    """The elements of one argument that one line accesses, by all programs of a call together.

    `kind` is one of TOUCHES. `runs` are pairs of a first element and the one after the last,
    counted in memory from the argument's first one, so that gaps between rows count, too. `lanes`
    are those of one program, active or not; `masked` says if some were not. `programs` took part.
    `unset` says that elements were read before the call had stored to them.
    """

    line: int
    kind: str
    array: str
    runs: tuple[tuple[int, int], ...]
    lanes: int = 1
    masked: bool = False
    programs: int = 1
    unset: bool = False


@dataclass(frozen=True)
class Sightings:
    """The launches and accesses of a call that a device was asked to watch closely.

    `twice` has, for each argument, the runs of elements that two programs or more stored to. `cut`
    says that the record is incomplete.
    """

    launches: tuple[LaunchRef, ...] = ()
    touched: tuple[Touched, ...] = ()
    twice: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    cut: bool = False


def read_sightings(value: Mapping[str, Any]) -> Sightings:
    """Read a device's record. Raises what `wire` does for another form."""
    return Sightings(
        launches=tuple(map(read_launch, list(value["launches"])[:MOST_LAUNCHES])),
        touched=tuple(map(_touched, list(value["touched"])[:MOST_TOUCHED])),
        twice={wire.text(name): _runs(runs) for name, runs in dict(value["twice"]).items()},
        cut=value["cut"] is True,
    )


def _touched(value: Mapping[str, Any]) -> Touched:
    return Touched(
        line=wire.count(value["line"]),
        kind=wire.one_of(TOUCHES, value["kind"]),
        array=wire.text(value["array"]),
        runs=_runs(value["runs"]),
        lanes=wire.total(value["lanes"]),
        masked=value["masked"] is True,
        programs=wire.total(value["programs"]),
        unset=value["unset"] is True,
    )


def _runs(value: Any) -> tuple[tuple[int, int], ...]:
    runs = tuple((wire.total(first), wire.total(stop)) for first, stop in list(value)[:MOST_RUNS])
    if any(stop <= first for first, stop in runs):
        raise ValueError("a run of no elements")
    return runs
