"""The accesses of all threads in one simulated call, as a worker sends them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.model import wire
from grader.model.faults import Fault, read_fault

MOST_ACCESSES = 8000  # of one traced call; at 80 bytes each, two thirds of what a line may hold
MOST_LAUNCHES, MOST_ARRAYS = 256, 64  # of a traced call
MOST_UNSTARTED = 1024  # numbers of threads or blocks
FROM_END = 4  # the fault of an access by an index below 0
SPACES = ("argument", "scratch", "shared")  # global memory that the entry gets, or makes; a block's


@dataclass(frozen=True)
class LaunchRef:
    """One launch of a kernel, with the extents (x, y, z) of its grid and of its blocks."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(frozen=True)
class ArrayRef:
    """An array that threads use; `space` is one of SPACES. Each block has its own shared ones.

    `dtype` is empty where the values of the elements are not known.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: str = ""


@dataclass(frozen=True)
class Stop:
    """The place where an error stopped a call, and the work that therefore never ran.

    `threads` are those of the block that did not act in the step, `blocks` those of the launch that
    did not begin; each has at most MOST_UNSTARTED numbers.
    """

    launch: int
    step: int
    block: int
    threads: tuple[int, ...] = ()
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Traced:
    """The accesses of all threads in one simulated call.

    A row of `accesses` is: number of the launch, barriers that the block has passed, number of the
    block and of the thread (x fastest), number of the array, element (flat, in C order; -1 where
    the index leads out of the array), kind (0 read, 1 write, 2 atomic update), line of the kernel
    file (0: none), and its fault (0 none, 1 out of bounds, 2 race, 3 uninitialised, FROM_END an
    index below 0, which counts from the end).

    `values` is empty, or holds for each access what it reads, or leaves in memory: the bits as a
    signed integer, of the array's dtype (None: not known). `outside` is the index that led out of
    its array, as written. `cut` is the number of further accesses, which are not listed. `fault`
    ended the call, at `stop`.
    """

    launches: tuple[LaunchRef, ...] = ()
    arrays: tuple[ArrayRef, ...] = ()
    accesses: tuple[tuple[int, ...], ...] = ()
    outside: tuple[int, ...] = ()
    cut: int = 0
    fault: Fault | None = None
    stop: Stop | None = None
    values: tuple[int | None, ...] = ()


def read_traced(value: Mapping[str, Any]) -> Traced:
    """Read a call's accesses. Raises what `wire` does for another form."""
    fault, stop = value["fault"], value.get("stop")
    launches = tuple(map(read_launch, list(value["launches"])[:MOST_LAUNCHES]))
    arrays = tuple(map(read_array, list(value["arrays"])[:MOST_ARRAYS]))
    if len(value["accesses"]) > MOST_ACCESSES:
        raise ValueError("more accesses than asked for")
    values = tuple(None if one is None else wire.bits(one) for one in value.get("values", ()))
    if len(values) not in (0, len(value["accesses"])):
        raise ValueError("values of other accesses")
    return Traced(
        launches=launches,
        arrays=arrays,
        accesses=tuple(_access(row, launches, arrays) for row in value["accesses"]),
        outside=tuple(map(wire.integer, list(value["outside"])[: wire.MOST_AXES])),
        cut=wire.total(value["cut"]),
        fault=None if fault is None else read_fault(fault),
        stop=None if stop is None else _stop(stop, launches),
        values=values,
    )


def read_launch(value: Mapping[str, Any]) -> LaunchRef:
    kernel, grid, block = wire.text(value["kernel"]), value["grid"], value["block"]
    return LaunchRef(kernel, wire.three(grid), wire.three(block))


def read_array(value: Mapping[str, Any]) -> ArrayRef:
    name, space = wire.text(value["name"]), wire.one_of(SPACES, value["space"])
    dtype = wire.text(value.get("dtype", ""))
    return ArrayRef(name, space, wire.extents(value["shape"]), dtype)


def _access(
    row: list[Any], launches: Sequence[LaunchRef], arrays: Sequence[ArrayRef]
) -> tuple[int, ...]:
    launch, step, block, thread, array, element, kind, line, wrong = map(wire.integer, row)
    where, what = (
        launches[wire.count(launch, len(launches) - 1)],
        arrays[wire.count(array, len(arrays) - 1)],
    )
    wire.count(step)
    wire.count(block, math.prod(where.grid) - 1)
    wire.count(thread, math.prod(where.block) - 1)
    wire.count(element + 1, math.prod(what.shape))
    wire.count(kind, 2)
    wire.count(line)
    wire.count(wrong, FROM_END)
    if (element == -1) != (wrong == 1):
        raise ValueError("an access without an element is out of bounds, and no other one is")
    return launch, step, block, thread, array, element, kind, line, wrong


def _stop(value: Mapping[str, Any], launches: Sequence[LaunchRef]) -> Stop:
    launch = wire.count(value["launch"], len(launches) - 1)
    threads, blocks = math.prod(launches[launch].block), math.prod(launches[launch].grid)
    if max(len(value["threads"]), len(value["blocks"])) > MOST_UNSTARTED:
        raise ValueError("more threads or blocks than asked for")
    return Stop(
        launch=launch,
        step=wire.count(value["step"]),
        block=wire.count(value["block"], blocks - 1),
        threads=tuple(wire.count(one, threads - 1) for one in value["threads"]),
        blocks=tuple(wire.count(one, blocks - 1) for one in value["blocks"]),
    )
