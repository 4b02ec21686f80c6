"""Queries that pictures make on a trace: threads, elements, frames, accesses that may race."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st

from grader.model import trace_queries
from grader.model.trace import Access, Array, Launch, Trace

extents = st.integers(1, 5)
dims = st.tuples(extents, extents, extents)


@given(dims, st.data())
def test_a_number_and_a_place_are_the_same_thread(
    extent: tuple[int, int, int], data: st.DataObject
):
    number = data.draw(st.integers(0, prod(extent) - 1))
    place = trace_queries.place(number, extent)
    assert all(0 <= at < most for at, most in zip(place, extent, strict=True))
    (x, y, z), (width, height, _) = place, extent
    assert x + width * (y + height * z) == number


def test_threads_are_counted_along_x_first():
    assert trace_queries.place(5, (4, 2, 3)) == (1, 1, 0)
    assert trace_queries.place(8, (4, 2, 3)) == (0, 0, 1)
    assert trace_queries.place(21, (4, 2, 3)) == (1, 1, 2)


@given(st.lists(extents, max_size=4).map(tuple), st.data())
def test_an_index_is_that_of_c_order(shape: tuple[int, ...], data: st.DataObject):
    element = data.draw(st.integers(0, prod(shape) - 1))
    index = trace_queries.index_of(element, shape)
    assert all(0 <= at < most for at, most in zip(index, shape, strict=True))
    counted = 0
    for at, most in zip(index, shape, strict=True):
        counted = counted * most + at
    assert counted == element


@given(st.integers(1, 40), st.sets(st.integers(0, 39)), st.integers(1, 50))
def test_the_drawn_range_fits_and_begins_with_the_first_of_interest(
    extent: int, interest: set[int], most: int
):
    interest = {each for each in interest if each < extent}
    seen = trace_queries.range_around(extent, interest, most)
    assert len(seen) == min(extent, most)
    assert seen.start >= 0
    assert seen.stop <= extent
    assert min(interest, default=0) in seen


ACCESSES = st.lists(
    st.builds(
        Access,
        launch=st.integers(0, 1),
        step=st.integers(0, 2),
        block=st.integers(0, 1),
        thread=st.integers(0, 2),
        array=st.integers(0, 1),
        element=st.integers(0, 2),
        kind=st.sampled_from(["read", "write", "update"]),
        line=st.none(),
    ),
    max_size=12,
)


def traced(accesses: list[Access]) -> Trace:
    return Trace(
        exercise="e",
        case="c",
        source=(),
        launches=(Launch(kernel="k", grid=(2, 1, 1), block=(3, 1, 1)),) * 2,
        arrays=(
            Array(name="x", space="global", shape=(3,), role="inout"),
            Array(name="s", space="shared", shape=(3,), role="shared"),
        ),
        accesses=tuple(accesses),
    )


@given(ACCESSES)
def test_frames_hold_each_access_once(accesses: list[Access]):
    one = traced(accesses)
    frames = trace_queries.frames(one)
    assert list(frames) == sorted(set(frames))
    assert {launch for launch, _ in frames} == {0, 1}
    held = [
        access for launch, step in frames for access in trace_queries.accesses_at(one, launch, step)
    ]
    assert sorted(map(repr, held)) == sorted(map(repr, accesses))


@given(ACCESSES, st.sampled_from([None, 0, 1]))
def test_accesses_by_element_are_sorted_and_complete(accesses: list[Access], block: int | None):
    touched = trace_queries.accesses_by_element(accesses, 1, block)
    assert list(touched) == sorted(touched)
    assert sum(map(len, touched.values())) == sum(
        access.array == 1 and block in (None, access.block) for access in accesses
    )
    for element, some in touched.items():
        assert {access.element for access in some} == {element}
        places = [next(n for n, one in enumerate(accesses) if one is each) for each in some]
        assert places == sorted(places)


@given(ACCESSES)
def test_two_threads_are_rivals_of_each_other(accesses: list[Access]):
    one = traced(accesses)
    for access in accesses:
        for other in trace_queries.unordered_accesses(one, access):
            assert access in trace_queries.unordered_accesses(one, other)
            assert other.element == access.element
            assert (other.block, other.thread) != (access.block, access.thread)
            assert {access.kind, other.kind} not in ({"read"}, {"update"})


@pytest.mark.parametrize(
    ("other", "racing"),
    [
        ({"thread": 1}, True),
        ({"thread": 0}, False),  # the same thread
        ({"thread": 1, "step": 1}, False),  # a barrier between them
        ({"thread": 1, "element": 1}, False),
        ({"thread": 1, "launch": 1}, False),
        ({"block": 1, "step": 2}, True),  # no barrier orders two blocks
        ({"thread": 1, "kind": "write"}, True),
        ({"thread": 1, "kind": "update"}, True),
    ],
)
def test_accesses_to_one_element_of_global_memory_may_race(other: dict[str, Any], racing: bool):
    fields = {"launch": 0, "step": 0, "block": 0, "thread": 0, "array": 0, "element": 0}
    write = Access(**fields, kind="write", line=None)
    another = Access(**(fields | {"kind": "read", "line": None} | other))
    assert bool(trace_queries.unordered_accesses(traced([write, another]), write)) == racing


def test_blocks_do_not_race_for_their_own_shared_memory():
    fields = {"launch": 0, "step": 0, "thread": 0, "array": 1, "element": 0, "line": None}
    mine, other = (Access(**fields, block=block, kind="write") for block in (0, 1))
    assert trace_queries.unordered_accesses(traced([mine, other]), mine) == ()


def test_the_last_write_of_an_element_wins():
    one = traces.two_steps()
    assert {
        element: last.thread for element, last in trace_queries.last_writes(one, "out").items()
    } == {element: element % 4 for element in range(8)}
    assert trace_queries.last_writes(one, "a") == {}
