"""The address guard: what it lets through, and what it says when it does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.worker.bounds import AddressGuard, OutOfBounds, Span

X = Span(1000, 1000 + 4 * 1025, "x")
OUT = Span(8000, 8000 + 4 * 1025, "out")


def guard(*spans: Span, arena: Span | None = None) -> AddressGuard:
    made = AddressGuard(arena)
    made.allow(spans)
    return made


def float32_at(span: Span, *indices: int) -> np.ndarray:
    return np.array([span.start + 4 * index for index in indices], dtype=np.uint64)


def test_every_element_of_an_argument_may_be_touched():
    guard(X, OUT).check(float32_at(X, *range(1025)), 4, "load")


def test_one_access_may_touch_two_arguments():
    guard(X, OUT).check(np.concatenate([float32_at(X, 0), float32_at(OUT, 1024)]), 4, "load")


def test_no_active_lane_touches_nothing():
    guard().check(np.array([], dtype=np.uint64), 4, "load")


def test_past_the_end_names_the_argument_the_distance_and_the_lanes():
    with pytest.raises(OutOfBounds) as caught:
        guard(OUT, X).check(float32_at(X, *range(1024, 1028)), 4, "load")
    assert str(caught.value) == (
        "load reads 3 elements past the end of x (x spans 1025 elements); "
        "3 of 4 active lanes are outside: is the mask missing?"
    )


def test_before_the_start():
    with pytest.raises(OutOfBounds) as caught:
        guard(X, OUT).check(float32_at(OUT, -1), 4, "store")
    assert str(caught.value) == (
        "store writes 1 element before the start of out (out spans 1025 elements): "
        "is the address right?"
    )


def test_the_last_element_must_fit_as_a_whole():
    half_way = np.array([X.stop - 2], dtype=np.uint64)
    guard(X).check(half_way, 2, "load")
    with pytest.raises(OutOfBounds, match="atomic updates 1 element past the end of x"):
        guard(X).check(half_way, 4, "atomic")


@pytest.mark.parametrize("address", [0, 3, 2**63, 2**64 - 4], ids=hex)
def test_addresses_at_both_ends_of_the_address_space_are_outside(address):
    with pytest.raises(OutOfBounds):
        guard(X, OUT).check(np.array([address], dtype=np.uint64), 4, "load")


def test_without_arguments_everything_is_outside():
    with pytest.raises(OutOfBounds, match="this call has no argument in memory"):
        guard().check(float32_at(X, 0), 4, "load")


def test_scratch_is_allowed_for_one_launch_only():
    checked = guard(X)
    scratch = Span(20_000, 20_400, "partial")
    with checked.launch([scratch]):
        checked.check(float32_at(scratch, 99), 4, "store")
        checked.check(float32_at(X, 0), 4, "load")
    with pytest.raises(OutOfBounds):
        checked.check(float32_at(scratch, 99), 4, "store")


def test_a_tensor_in_the_arena_does_not_widen_the_permission():
    arena = Span(500, 15_000, "arena")
    checked = guard(X, OUT, arena=arena)
    redzone = np.array([X.stop], dtype=np.uint64)
    with checked.launch([arena]), pytest.raises(OutOfBounds, match="past the end of x"):
        checked.check(redzone, 4, "store")


spans = st.tuples(st.integers(0, 60), st.integers(1, 30)).map(
    lambda drawn: Span(drawn[0], drawn[0] + drawn[1], "x")
)


@given(st.lists(spans, max_size=5), st.lists(st.integers(0, 100), min_size=1, max_size=9))
def test_agrees_with_the_definition_for_overlapping_spans(drawn, addresses):
    """Also spans that nest, touch or start together, as views of one scratch tensor do."""
    inside = all(any(s.start <= a and a + 4 <= s.stop for s in drawn) for a in addresses)
    lanes = np.array(addresses, dtype=np.uint64)
    if inside:
        guard(*drawn).check(lanes, 4, "load")
    else:
        with pytest.raises(OutOfBounds):
            guard(*drawn).check(lanes, 4, "load")
