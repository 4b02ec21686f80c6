"""The pattern that outputs hold before a call, in every dtype."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.correctness.dtypes import DTYPES, bits, has_unused_nan
from grader.sandbox.poison import Poison

pytestmark = pytest.mark.slow

NAMES = st.sampled_from(tuple(DTYPES))
RANDOM = [name for name, dtype in DTYPES.items() if not has_unused_nan(dtype) and name != "bool"]


@given(name=NAMES, rows=st.integers(1, 5), columns=st.integers(1, 9), pad=st.integers(0, 3))
def test_the_pattern_is_found_again_wherever_nobody_wrote(
    name: str, rows: int, columns: int, pad: int
):
    memory = torch.zeros(rows * (columns + pad) * 8, dtype=torch.uint8).view(DTYPES[name])
    view = memory.as_strided((rows, columns), (columns + pad, 1))
    poison = Poison.fresh()
    poison.fill(view)
    assert bool(poison.left_in(view).all())
    copy = bits(view).clone(memory_format=torch.contiguous_format).view(DTYPES[name])
    assert bool(poison.left_in(copy).all())  # whatever its layout
    places = torch.arange(rows * columns)
    assert torch.equal(poison.at(view, places), bits(view).reshape(-1))
    bits(view)[rows - 1, columns - 1] ^= 1
    assert poison.left_in(view).sum() == rows * columns - 1
    between = bits(memory)[: rows * (columns + pad)].view(rows, columns + pad)[:, columns:]
    assert not bool(between.any())


@pytest.mark.parametrize("name", RANDOM)
def test_dtypes_without_a_spare_value_get_other_bits_in_each_element(name: str):
    out = torch.zeros(4000, dtype=DTYPES[name])
    Poison.fresh().fill(out)
    few = 256 if out.element_size() == 1 else 3500
    assert len(bits(out).unique()) >= few
    again = torch.zeros_like(out)
    Poison.fresh().fill(again)
    assert (bits(out) == bits(again)).float().mean() < 0.02


def test_bools_get_a_byte_that_is_no_bool():
    seen = set()
    for _ in range(50):
        out = torch.zeros(3, dtype=torch.bool)
        Poison.fresh().fill(out)
        (byte,) = set(bits(out).tolist())
        assert byte not in (0, 1, 255)
        seen.add(byte)
    assert len(seen) > 20
