"""Queries on a trace: what a picture shows of its launches, steps, arrays and accesses."""

from __future__ import annotations

from collections.abc import Iterable

from grader.model.trace import Access, Array, Kind, Trace


def place(number: int, dims: tuple[int, int, int]) -> tuple[int, int, int]:
    width, height, _ = dims
    return number % width, number // width % height, number // (width * height)


def index_of(element: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for extent in reversed(shape):
        index.append(element % extent)
        element //= extent
    return tuple(reversed(index))


def step_count(trace: Trace, launch: int) -> int:
    if trace.unit == "lanes":
        return len(trace.launches[launch].parts)
    return 1 + max((each.step for each in trace.accesses if each.launch == launch), default=-1)


def accesses_at(trace: Trace, launch: int, step: int | None = None) -> tuple[Access, ...]:
    return tuple(
        access
        for access in trace.accesses
        if access.launch == launch and step in (None, access.step)
    )


def accesses_by_element(
    accesses: Iterable[Access], array: int, block: int | None = None
) -> dict[int, tuple[Access, ...]]:
    """Return the accesses to each element of an array, by element, in order.

    `block` selects the copy of a shared array; None takes those of all blocks. An access out of
    bounds touches no element.
    """
    by_element: dict[int, list[Access]] = {}
    for access in accesses:
        if access.array == array and access.element is not None and block in (None, access.block):
            by_element.setdefault(access.element, []).append(access)
    return {element: tuple(some) for element, some in sorted(by_element.items())}


def frames(trace: Trace) -> tuple[tuple[int, int], ...]:
    """List each launch with each of its steps. A launch without a known access has one step."""
    return tuple(
        (launch, step)
        for launch in range(len(trace.launches))
        for step in range(max(step_count(trace, launch), 1))
    )


def unordered_accesses(trace: Trace, access: Access) -> tuple[Access, ...]:
    """Return accesses of other threads to the same element that no barrier orders with this one.

    They are in the same step of the same block or, for global memory, in another block. At least
    one of the two changes the element, and not both are atomic.
    """
    array = trace.arrays[access.array]
    return tuple(
        other
        for other in trace.accesses
        if (other.launch, other.array) == (access.launch, access.array)
        and other.element == access.element is not None
        and (other.block, other.thread) != (access.block, access.thread)
        and (other.step == access.step if other.block == access.block else array.space == "global")
        and other.kind + access.kind not in ("readread", "updateupdate")
    )


def last_writes(trace: Trace, name: str) -> dict[int, Access]:
    return {
        access.element: access
        for access in trace.accesses
        if access.kind != "read"
        and access.element is not None
        and trace.arrays[access.array].name == name
    }


def stage(array: Array, kind: Kind) -> int:
    """Return the stage of the data: 0 read from global memory, 1 shared, 2 global memory changed.

    A simulator runs one thread after the other, and so in no such order.
    """
    if array.space == "shared":
        return 1
    return 0 if kind == "read" else 2


def range_around(extent: int, of_interest: Iterable[int], most: int) -> range:
    first = min(of_interest, default=0)
    start = max(min(first, extent - most), 0)
    return range(start, min(start + most, extent))
