"""A log of lanes as the judge gets it: what matters most, where a report cannot hold all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.backends.triton.device import undefined
from grader.backends.triton.device.lane_log import Known, LaneLog, Noted
from grader.backends.triton.device.sites import Source
from grader.backends.triton.undefined import unwritten_bits
from grader.model import (
    LONGEST_NAME,
    MOST_ACCESSES,
    MOST_ACTS,
    MOST_ARRAYS,
    MOST_LOOPS,
    RACE,
    UNDEFINED,
    UNINITIALISED,
    ArrayRef,
    OperationRef,
    StepRef,
    TracedLanes,
)
from grader.worker.bounds import Span

Lane = NDArray[np.int64]


@dataclass(frozen=True)
class Place:
    """An array in memory; `strides` are in elements of `itemsize` bytes."""

    ref: ArrayRef
    start: int
    stop: int
    strides: tuple[int, ...]
    itemsize: int

    def index(self, address: int) -> list[int]:
        """Return the index of the element at an address; out of bounds, so is the index."""
        rest = (address - self.start) // self.itemsize
        index = [0] * len(self.strides)
        axes = [n for n, extent in enumerate(self.ref.shape) if extent > 1 and self.strides[n]]
        for axis in sorted(axes, key=lambda axis: -self.strides[axis]):
            index[axis], rest = divmod(rest, self.strides[axis])
        if (
            rest and index
        ):  # no axis took the rest: on the first one, the index is out of bounds, too
            index[0] += rest
        return index


@dataclass(frozen=True)
class _Act:
    """One program's part of what was noted, and the step that it is in."""

    noted: Noted
    row: int
    step: StepRef
    part: int  # of the stretches of the program with these loops

    @property
    def program(self) -> int:
        return int(self.noted.programs[self.row])

    @property
    def lanes(self) -> Lane:
        """The active lanes."""
        if self.noted.active is None:
            assert self.noted.bits is not None
            return np.arange(self.noted.bits.shape[1])
        return np.flatnonzero(self.noted.active[self.row])


def argument(ref: Mapping[str, Any], span: Span, itemsize: int) -> Place:
    """Return the place of an argument, which the judge describes."""
    known = ArrayRef(ref["name"], "argument", tuple(ref["shape"]), ref["dtype"])
    return Place(known, span.start, span.stop, tuple(ref["strides"]), itemsize)


def traced(log: LaneLog, arguments: Sequence[Place], source: Source) -> TracedLanes:
    """Return what the judge gets of a log: at most MOST_ACTS, and MOST_ACCESSES of them."""
    rows = _Rows(log, arguments)
    acts = _chosen(list(_acts(log, source)))
    left = sum(map(_active, log.noted)) - sum(len(each.lanes) for each in acts)
    most = _most_lanes([len(each.lanes) for each in acts])
    listed = [rows.of(act, number, most) for number, act in enumerate(acts)]
    steps = list(dict.fromkeys((act.step, act.part) for act in acts))
    number_of = {step: number for number, step in enumerate(steps)}
    return TracedLanes(
        launches=tuple(log.launches),
        arrays=tuple(place.ref for place in rows.places),
        steps=tuple(step for step, _ in steps),
        operations=tuple(_reference(each, source) for each in log.operations),
        acts=tuple(_row(act, number_of[act.step, act.part]) for act in acts),
        accesses=tuple(row for some in listed for row in some),
        cut=log.cut + left + sum(len(act.lanes) for act in acts) - sum(map(len, listed)),
    )


def _active(noted: Noted) -> int:
    if noted.active is None:
        return 0 if noted.bits is None else int(noted.bits.size)
    return int(np.count_nonzero(noted.active))


def _reference(known: Known, source: Source) -> OperationRef:
    place = source.place(known.operation.site)
    dtype = str(known.dtype).removeprefix("torch.")
    return OperationRef(
        known.launch, known.kind, place.line, place.name[:LONGEST_NAME], known.shape, dtype
    )


def _acts(log: LaneLog, source: Source) -> Iterator[_Act]:
    """Yield what each program did, in the order of execution, with the steps that it went through.

    A program that comes back to the same turns of the same loops, such as to none after a loop,
    begins another step.
    """
    last: dict[tuple[int, int], tuple[StepRef, int]] = {}  # by launch and program
    times: dict[tuple[int, int, StepRef], int] = {}
    for noted in log.noted:
        launch = log.operations[noted.operation].launch
        loops = tuple((source.line_of(site), turn) for site, turn in noted.loops[:MOST_LOOPS])
        step = StepRef(launch, loops)
        for row, program in enumerate(noted.programs.tolist()):
            who = launch, program
            if who not in last or last[who][0] != step:
                part = times.get((*who, step), 0)
                times[*who, step] = part + 1
                last[who] = step, part
            yield _Act(noted, row, *last[who])


def _chosen(acts: list[_Act]) -> list[_Act]:
    """Choose whole programs: those that were stopped, the first, the last, then the others."""
    if len(acts) <= MOST_ACTS:
        return acts
    of_programs: dict[tuple[int, int], list[int]] = {}
    for number, act in enumerate(acts):
        of_programs.setdefault((act.step.launch, act.program), []).append(number)
    stopped = {(act.step.launch, act.program) for act in acts if act.noted.stopped}
    ends = {min(of_programs), max(of_programs)}
    chosen: set[int] = set()
    for who in sorted(of_programs, key=lambda who: (who not in stopped, who not in ends, who)):
        mine = of_programs[who]
        if len(mine) > MOST_ACTS:
            mine = [*mine[: MOST_ACTS // 2], *mine[-MOST_ACTS // 2 :]]
        if len(chosen) + len(mine) <= MOST_ACTS:
            chosen.update(mine)
    return [act for number, act in enumerate(acts) if number in chosen]


def _most_lanes(active: Sequence[int]) -> int:
    low, high = 1, max(active, default=1)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(each, middle) for each in active) <= MOST_ACCESSES:
            low = middle
        else:
            high = middle - 1
    return low


def _row(act: _Act, step: int) -> tuple[int, ...]:
    noted, other = act.noted, act.noted.other
    kind = 0 if other is None else 2 if other == () else 1
    bits = other if isinstance(other, int) else 0
    return (
        *(step, act.program, noted.operation, len(act.lanes)),
        *(kind, bits, int(noted.stopped)),
    )


class _Rows:
    """The rows of accesses, and the arrays that they name."""

    def __init__(self, log: LaneLog, arguments: Sequence[Place]) -> None:
        self._log = log
        self.places = list(arguments[:MOST_ARRAYS])
        self._numbers: dict[tuple[str, int], int] = {}  # of scratch, by name and start
        self._raced = _raced(log)

    def of(self, act: _Act, number: int, most: int) -> list[tuple[int, ...]]:
        """Return an act's rows. Above `most` lanes, keep the first, the last and faulty ones."""
        noted, lanes = act.noted, act.lanes
        values = np.zeros(0, np.int64) if noted.bits is None else noted.bits[act.row]
        if noted.addresses is None:
            return [(number, lane, -1, 0, int(values[lane])) for lane in lanes[:most].tolist()]
        faults = self._faults(act, lanes)
        home = self._home(act, lanes)
        rows = []
        for at in _shown(len(lanes), np.flatnonzero(faults), most):
            lane, address = int(lanes[at]), int(noted.addresses[act.row, lanes[at]])
            array = self._array(address, act) if home is None else home
            if array is not None:
                value = 0 if noted.bits is None else int(values[lane])
                index = self.places[array].index(address)
                rows.append((number, lane, array, int(faults[at]), value, *index))
        return rows

    def _home(self, act: _Act, lanes: Lane) -> int | None:
        """Return the array that a stopped operation means, where lanes outside may hit another."""
        if not act.noted.stopped or act.noted.addresses is None or not len(lanes):
            return None
        return self._array(int(act.noted.addresses[act.row, lanes[0]]), act)

    def _faults(self, act: _Act, lanes: Lane) -> NDArray[np.int64]:
        noted, known = act.noted, self._log.operations[act.noted.operation]
        faults = np.zeros(len(lanes), np.int64)
        assert noted.addresses is not None
        addresses = noted.addresses[act.row, lanes]
        if noted.bits is not None and not noted.stopped:
            bits = np.ascontiguousarray(noted.bits[act.row, lanes])
            none = undefined.among_bits(bits, known.dtype, self._log.undefined)
            if known.kind != "load":
                faults[none] = UNDEFINED
            else:
                pattern = unwritten_bits(known.dtype)
                never = none if pattern is None else none | (bits == pattern)
                own = np.zeros(len(lanes), np.bool_)
                for span in self._log.scratch[known.launch]:
                    own |= (addresses >= span.start) & (addresses < span.stop)
                faults[never & own] = UNINITIALISED
        for one, address in self._raced.get((id(noted), act.program), ()):
            faults[addresses == address] = one
        return faults

    def _array(self, address: int, act: _Act) -> int | None:
        """Return the number of the array that has an address, or is nearest to it."""
        known = self._log.operations[act.noted.operation]
        size = known.dtype.itemsize
        own = {span: self._scratch(span, known, size) for span in self._log.scratch[known.launch]}
        arguments = [n for n, place in enumerate(self.places) if place.ref.space == "argument"]
        numbers = [*arguments, *(number for number in own.values() if number is not None)]
        for number in numbers:
            if self.places[number].start <= address < self.places[number].stop:
                return number
        near = [number for number in numbers if self.places[number].ref.shape]
        return min(near, key=lambda number: _distance(self.places[number], address), default=None)

    def _scratch(self, span: Span, known: Known, size: int) -> int | None:
        key = span.name, span.start
        if key not in self._numbers:
            if len(self.places) == MOST_ARRAYS:
                return None
            shape = ((span.stop - span.start) // size,)
            dtype = str(known.dtype).removeprefix("torch.")
            ref = ArrayRef(span.name[:LONGEST_NAME], "scratch", shape, dtype)
            self._numbers[key] = len(self.places)
            self.places.append(Place(ref, span.start, span.stop, (1,), size))
        return self._numbers[key]


def _distance(place: Place, address: int) -> int:
    return max(place.start - address, address - place.stop)


def _raced(log: LaneLog) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return the fault and the address of both sides of a race, by what was noted and program."""
    raced: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, noted in enumerate(log.noted):
        if noted.races is None or noted.addresses is None:
            continue
        address, this, other = noted.races
        for row, program in enumerate(noted.programs.tolist()):
            if program in (this, other) and (noted.addresses[row] == address).any():
                raced.setdefault((id(noted), program), []).append((RACE, address))
        if (id(noted), other) in raced and other != this:
            continue  # both in one operation
        for before in reversed(log.noted[:number]):
            mine = before.programs.tolist()
            if before.addresses is None or other not in mine:
                continue
            if (before.addresses[mine.index(other)] == address).any():
                raced.setdefault((id(before), other), []).append((RACE, address))
                break
    return raced


def _shown(count: int, faulty: Lane, most: int) -> list[int]:
    if count <= most:
        return list(range(count))
    marked = faulty[: most // 2].tolist()
    ends = max(most - len(marked), 2)
    head = ends - ends // 2
    return sorted({*marked, *range(head), *range(count - ends // 2, count)})
