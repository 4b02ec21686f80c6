"""The record of a case's accesses: what it refuses, and what both pictures ask of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from grader.model import trace
from grader.model.trace import Access, Array, Launch, Trace

PUBLISHED = Path(__file__).parents[2] / "docs" / "trace.schema.json"
SCHEMA = trace.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)  # made once: to check the schema takes long

extents = st.integers(1, 5)
dims = st.tuples(extents, extents, extents)


def test_the_published_schema_is_what_the_code_makes():
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == SCHEMA, (
        "run `python -m grader.model.trace > docs/trace.schema.json`"
    )
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", [*traces.ALL, "hostile"])
def test_a_trace_survives_json_and_satisfies_the_schema(name: str):
    made = getattr(traces, name)()
    text = trace.trace_json(made)
    assert trace.parse_trace(text) == made
    VALIDATOR.validate(json.loads(text))


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda t: t.update(schema="grader/trace/v2"), "grader/trace/v1"),
        (lambda t: t["accesses"][3].update(launch=1), "access 3: no such launch"),
        (lambda t: t["accesses"][3].update(block=3), "access 3: no such thread"),
        (lambda t: t["accesses"][3].update(thread=3), "access 3: no such thread"),
        (lambda t: t["accesses"][3].update(array=2), "access 3: no such array"),
        (lambda t: t["accesses"][3].update(element=5), "access 3: no such element"),
        (
            lambda t: t["accesses"][3].update(element=None),
            "access 3: an access without an element is",
        ),
        (
            lambda t: t["accesses"][3].update(fault="out_of_bounds"),
            "access 3: an access without an element",
        ),
        (lambda t: t["accesses"][3].update(line=12), "access 3: no such line"),
        (lambda t: t["accesses"][3].update(line=0), "greater than or equal to 1"),
        (lambda t: t["accesses"][3].update(kind="erase"), "'read', 'write' or 'update'"),
        (lambda t: t["accesses"][3].update(thread=-1), "greater than or equal to 0"),
        (lambda t: t["launches"][0].update(block=[0, 1, 1]), "greater than or equal to 1"),
        (lambda t: t["arrays"][1].update(name="a"), "two arrays have one name"),
        (lambda t: t.update(unwritten={"out": [5]}), "there is no element 5 in an array 'out'"),
        (lambda t: t.update(unwritten={"b": [0]}), "there is no element 0 in an array 'b'"),
        (
            lambda t: t.update(wrong={"out": [{"element": 9, "expected": "1", "got": "2"}]}),
            "there is no element 9 in an array 'out'",
        ),
    ],
)
def test_a_trace_that_is_not_whole_is_refused(
    edit: Callable[[dict[str, Any]], object], complaint: str
):
    fields = json.loads(trace.trace_json(traces.missing_guard()))
    edit(fields)
    with pytest.raises(ValidationError, match=complaint):
        trace.parse_trace(json.dumps(fields))


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda t: t["acts"][1].update(launch=1), "act 1: no such launch"),
        (lambda t: t["acts"][1].update(operation=2), "act 1: no such launch or operation"),
        (lambda t: t["acts"][1].update(block=3), "act 1: no such program"),
        (lambda t: t["acts"][1].update(step=1), "act 1: no such program or part"),
        (lambda t: t["acts"][1].update(active=5), "act 1: more lanes"),
        (lambda t: t["accesses"][1].update(act=2), "access 1: of another act"),
        (lambda t: t["accesses"][1].update(act=9), "access 1: no such act"),
        (lambda t: t["operations"][0].update(line=11), "an operation in no launch or line"),
        (lambda t: t["stopped"].update(block=3), "no such thread or block was stopped"),
        (lambda t: t["stopped"].update(operations=[2]), "no such operation"),
        (lambda t: t["stopped"].update(launch=1), "stopped in no launch"),
    ],
)
def test_a_trace_of_programs_that_is_not_whole_is_refused(
    edit: Callable[[dict[str, Any]], object], complaint: str
):
    fields = json.loads(trace.trace_json(traces.missing_mask()))
    edit(fields)
    with pytest.raises(ValidationError, match=complaint):
        trace.parse_trace(json.dumps(fields))


def test_fields_that_a_reader_does_not_know_are_ignored():
    fields = json.loads(trace.trace_json(traces.good_map()))
    assert trace.parse_trace(json.dumps(fields | {"later": 1})) == traces.good_map()


@given(dims, st.data())
def test_a_number_and_a_place_are_the_same_thread(
    extent: tuple[int, int, int], data: st.DataObject
):
    number = data.draw(st.integers(0, prod(extent) - 1))
    place = trace.place(number, extent)
    assert all(0 <= at < most for at, most in zip(place, extent, strict=True))
    assert trace.number(place, extent) == number


def test_threads_are_counted_along_x_first():
    assert trace.place(5, (4, 2, 3)) == (1, 1, 0)
    assert trace.place(8, (4, 2, 3)) == (0, 0, 1)
    assert trace.number((1, 1, 2), (4, 2, 3)) == 21


@given(st.lists(extents, max_size=4).map(tuple), st.data())
def test_an_index_is_that_of_c_order(shape: tuple[int, ...], data: st.DataObject):
    element = data.draw(st.integers(0, prod(shape) - 1))
    index = trace.index_of(element, shape)
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
    seen = trace.range_around(extent, interest, most)
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
    frames = trace.frames(one)
    assert list(frames) == sorted(set(frames))
    assert {launch for launch, _ in frames} == {0, 1}
    held = [access for launch, step in frames for access in trace.accesses_at(one, launch, step)]
    assert sorted(map(repr, held)) == sorted(map(repr, accesses))


@given(ACCESSES, st.sampled_from([None, 0, 1]))
def test_accesses_by_element_are_sorted_and_complete(accesses: list[Access], block: int | None):
    touched = trace.accesses_by_element(accesses, 1, block)
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
        for other in trace.unordered_accesses(one, access):
            assert access in trace.unordered_accesses(one, other)
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
    assert bool(trace.unordered_accesses(traced([write, another]), write)) == racing


def test_blocks_do_not_race_for_their_own_shared_memory():
    fields = {"launch": 0, "step": 0, "thread": 0, "array": 1, "element": 0, "line": None}
    mine, other = (Access(**fields, block=block, kind="write") for block in (0, 1))
    assert trace.unordered_accesses(traced([mine, other]), mine) == ()


def test_the_last_write_of_an_element_wins():
    one = traces.two_steps()
    assert {element: last.thread for element, last in trace.last_writes(one, "out").items()} == {
        element: element % 4 for element in range(8)
    }
    assert trace.last_writes(one, "a") == {}
