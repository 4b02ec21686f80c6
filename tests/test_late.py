"""What comes last of a go's inputs: where it lies, and what lies there before."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.late import SPAN, Late, stand_in, withhold

SHAPES = st.one_of(
    st.tuples(st.integers(1, 3 * SPAN)), st.tuples(st.integers(1, 9), st.integers(1, 50))
)
DTYPES = st.sampled_from((torch.float32, torch.float16, torch.bfloat16))


@given(shape=SHAPES, dtype=DTYPES, seed=st.integers(0, 2**31))
def test_what_is_late_is_all_that_a_stand_in_changes(
    shape: tuple[int, ...], dtype: torch.dtype, seed: int
):
    """The law: with it written, the tensor is what was drawn."""
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    values = drawn.clone()
    late = withhold(values)
    assert torch.equal(values, drawn)
    stand_in(values, late)
    Late(late.places, late.values, values.view(-1)).write()
    assert torch.equal(values, drawn)


def test_the_greatest_element_of_each_row_is_late():
    """A maximum that was taken before is wrong, and so is a sum of exponentials."""
    values = torch.tensor([[1.0, 5.0, 2.0, 3.0], [9.0, 4.0, 8.0, 7.0]])
    late = withhold(values)
    assert late.places.tolist() == [1, 4]
    assert late.values.tolist() == [5.0, 9.0]
    stand_in(values, late)
    assert values.max(dim=1).values.lt(torch.tensor([5.0, 9.0]) + 1e-6).all()


@pytest.mark.parametrize("length", [SPAN // 2, SPAN, 2 * SPAN + 7])
def test_of_a_vector_one_element_of_each_span_is(length: int):
    places = withhold(torch.randn(length)).places
    span = min(length, SPAN)
    assert (places // span).tolist() == list(range(length // span))


def test_a_stand_in_equals_no_other_element():
    """A copy of a neighbour could be looked for, and would tell where the late one will lie."""
    values = torch.randn(64, 1000, generator=torch.Generator().manual_seed(1))
    late = withhold(values)
    stand_in(values, late)
    stood_in = values.view(-1)[late.places]
    assert int((values == stood_in[:, None]).sum()) <= 64 + 2  # itself, and mean of twice the same


def test_a_stand_in_is_finite():
    """The sum of two large numbers of this dtype would be infinite."""
    values = torch.full((4, 10), 60_000.0, dtype=torch.float16)
    stand_in(values, withhold(values))
    assert torch.equal(values, torch.full((4, 10), 60_000.0, dtype=torch.float16))
