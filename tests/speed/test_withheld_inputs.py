"""What comes last of a go's inputs: where it lies, and what lies there before."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grader.correctness.dtypes import DTYPES, NAMES, bits, widened
from grader.correctness.inputs import LargeDraw
from grader.model.cases import Case
from grader.speed.withheld_inputs import (
    MAX_WITHHELD,
    SPAN,
    PendingInput,
    withhold,
    write_placeholders,
)

SHAPES = st.one_of(
    st.tuples(st.integers(1, 2 * SPAN + 100)), st.tuples(st.integers(1, 9), st.integers(1, 50))
)
ALL = st.sampled_from(tuple(DTYPES.values()))


def drawn(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, seed: int = 1) -> Tensor:
    normal = 100 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return (normal.clamp(0, 127) if dtype.itemsize == 1 else normal).to(dtype)


@given(shape=SHAPES, dtype=ALL, seed=st.integers(0, 2**31))
def test_with_what_is_late_the_tensor_is_as_it_was_before_the_stand_ins(
    shape: tuple[int, ...], dtype: torch.dtype, seed: int
):
    values = drawn(shape, dtype, seed)
    late = withhold(values, torch.default_generator)
    complete = values.clone()
    write_placeholders(values, late)
    elsewhere = torch.ones(values.numel(), dtype=torch.bool)
    elsewhere[late.places.flatten()] = False
    assert torch.equal(bits(values).view(-1)[elsewhere], bits(complete).view(-1)[elsewhere])
    PendingInput(late.places.flatten(), late.values.flatten(), values.view(-1)).write()
    assert torch.equal(bits(values), bits(complete))


@given(shape=SHAPES, dtype=ALL, seed=st.integers(0, 2**31))
def test_no_element_leaves_the_range_of_what_was_drawn(
    shape: tuple[int, ...], dtype: torch.dtype, seed: int
):
    """An exercise may take a logarithm of it, or what else is not defined everywhere."""
    values = drawn(shape, dtype, seed)
    least, greatest = widened(values).min(), widened(values).max()
    if dtype == torch.bool:
        least, greatest = 0, 1
    late = withhold(values, torch.default_generator)
    for _ in range(2):
        assert least <= widened(values).min()
        assert widened(values).max() <= greatest
        write_placeholders(values, late)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_something_is_late_in_rows_of_every_dtype(dtype: torch.dtype):
    """Of 8 bits many elements are alike, and one may stand in for another."""
    values = LargeDraw(Case((200, 4096), NAMES[dtype]), "cpu", 1).tensor((200, 4096))
    late = withhold(values, torch.default_generator)
    complete = values.clone()
    write_placeholders(values, late)
    changed = (bits(values) != bits(complete)).any(dim=1)
    assert changed.float().mean() > (0.8 if dtype.itemsize == 1 else 0.99)


def test_the_opposite_of_a_bool_stands_in_for_it():
    values = torch.ones((50, 10_000), dtype=torch.bool)
    late = withhold(values, torch.default_generator)
    write_placeholders(values, late)
    missing = (~values).sum(dim=1)
    assert bool((missing >= 1).all())
    assert bool((missing <= MAX_WITHHELD).all())
    assert len(missing.unique()) > 1


def test_the_greatest_element_of_each_row_is_late():
    """A maximum that was taken before is wrong, and so is a sum of exponentials. In rows so short
    another that is late often falls on its place."""
    values = drawn((200, 100))
    greatest = values.max(dim=1)
    late = withhold(values, torch.default_generator)
    assert torch.equal(late.places[:, 0] % 100, greatest.indices)
    assert torch.equal(late.values[:, 0], greatest.values)
    write_placeholders(values, late)
    assert bool((values.max(dim=1).values < greatest.values).all())


def test_nobody_knows_how_many_others_are():
    """Who did could stop reading where the last of them was found."""
    values = drawn((400, 4096))
    greatest = values.amax(dim=1, keepdim=True)
    late = withhold(values, torch.default_generator)
    near = (late.values[:, 1:] > 0.9 * greatest).sum(dim=1)
    counts = torch.bincount(near, minlength=MAX_WITHHELD)
    assert bool((counts > 20).all()), "of 400 rows, 50 or 150 are to be expected of each count"
    assert len(counts) == MAX_WITHHELD


def test_nobody_knows_how_many_whole_numbers_are_late():
    values = torch.randint(1 << 40, (400, 4096), generator=torch.Generator().manual_seed(1))
    late = withhold(values, torch.default_generator)
    changed = (late.before != late.values).sum(dim=1)
    counts = torch.bincount(changed, minlength=MAX_WITHHELD + 1)
    assert counts[0] == 0
    assert bool((counts[1:] > 20).all()), "of 400 rows, 50 or 150 are to be expected of each count"


def test_what_is_late_weighs_something():
    """In every sum of exponentials of a scored case: a hundred times what rounding may cost it."""
    shape = (300, 4096)
    values = LargeDraw(Case(shape, "float32"), "cpu", seed=1).tensor(shape)
    late = withhold(values, torch.default_generator)
    complete = values.double().logsumexp(dim=1)
    write_placeholders(values, late)
    assert bool(((values.double().logsumexp(dim=1) - complete).abs() > 0.02).all())


def test_of_a_vector_it_is_the_greatest_in_size():
    """In a sum of products, a large negative element weighs as much as a positive one."""
    values = drawn((2 * SPAN,))
    values[7] = -1000.0
    late = withhold(values, torch.default_generator)
    assert int(late.places[0, 0]) == 7
    assert float(late.values[0, 0]) == -1000.0


def test_whole_numbers_stay_as_they_are_and_some_come_late():
    """They may be indices: each must be one of those drawn. What was there has another sum, and
    another maximum where the greatest is there once."""
    values = torch.randint(1 << 40, (50, 4096), generator=torch.Generator().manual_seed(1))
    complete = values.clone()
    late = withhold(values, torch.default_generator)
    assert torch.equal(values, complete)
    assert late.places.shape == (50, MAX_WITHHELD)
    write_placeholders(values, late)
    assert bool((values.sum(dim=1) != complete.sum(dim=1)).all())
    assert bool((values.amax(dim=1) != complete.amax(dim=1)).all())
    for row, whole in zip(values, complete, strict=True):
        assert set(row.tolist()) <= set(whole.tolist())


def test_infinite_elements_make_nothing_that_is_none():
    """exp(-inf) is 0, and legal; but a step from -inf to -inf is not a number."""
    values = drawn((40, 100))
    values[:20], values[20:, ::2] = -torch.inf, torch.inf
    late = withhold(values, torch.default_generator)
    assert not bool(values.isnan().any())
    write_placeholders(values, late)
    assert not bool(values[:20].isnan().any())


@pytest.mark.parametrize("length", [SPAN // 2, SPAN, 2 * SPAN + 7])
def test_of_a_vector_each_span_is_a_row(length: int):
    places = withhold(torch.randn(length), torch.default_generator).places
    span = min(length, SPAN)
    assert (places // span).tolist() == [[row] * MAX_WITHHELD for row in range(length // span)]


def test_what_stands_in_for_the_greatest_equals_no_other_element():
    """A copy of a neighbour could be looked for, and would tell where the late one will lie."""
    values = drawn((64, 1000))
    late = withhold(values, torch.default_generator)
    write_placeholders(values, late)
    stood_in = values.view(-1)[late.places[:, 0]]
    assert int((values == stood_in[:, None]).sum()) <= 64 + 2  # itself, and mean of twice the same


def test_a_stand_in_is_finite():
    """The sum of two large numbers of this dtype would be infinite."""
    values = torch.full((4, 10), 60_000.0, dtype=torch.float16)
    write_placeholders(values, withhold(values, torch.default_generator))
    assert torch.equal(values, torch.full((4, 10), 60_000.0, dtype=torch.float16))
