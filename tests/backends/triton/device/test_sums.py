"""Sums that are not added up: what is read off their parts, against their elements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grader.backends.triton.device import lazy, operations
from grader.backends.triton.device.access import Access, Kind
from grader.backends.triton.device.lanes import Lanes
from grader.backends.triton.device.sums import Sum, added, multiplied
from grader.backends.triton.device.ttir.records import Operation, Type
from grader.backends.triton.device.turns import equal
from grader.backends.triton.device.values import taken, whole
from grader.backends.triton.device.wide_indices import Cause, Exact, bounds

from .memories import access, memory_of

SIZES = (3, 2, 4)  # programs, and a block of two axes


def tensors(lows: tuple[int, ...] = (0, -3), dtype: torch.dtype = torch.int64) -> Any:
    """Return tensors that broadcast to SIZES, some of which rise evenly."""
    shapes = st.tuples(*(st.sampled_from((1, size)) for size in SIZES))
    return st.builds(
        lambda shape, numbers, even, step, low: (
            (
                torch.arange(int(np.prod(shape))) * step + low
                if even
                else torch.tensor(numbers[: int(np.prod(shape))])
            )
            .view(shape)
            .to(dtype)
        ),
        shapes,
        st.lists(st.integers(-9, 9), min_size=24, max_size=24),
        st.booleans(),
        st.sampled_from((1, 2, 4, 8)),
        st.sampled_from(lows),
    )


def test_an_address_of_bytes_keeps_64_bits() -> None:
    """The offset of a byte is not multiplied, so nothing else widens a part of 32 bits."""
    pointers = torch.full((3, 1, 1), 2**40)
    offsets = Sum((torch.zeros(1, 2, 1).int(), torch.arange(4).view(1, 1, 4).int()), (0, 3), 3)
    total = added(pointers, offsets)
    assert total is not None
    assert {part.dtype for part in total.parts} == {torch.int64}
    assert total.tensor.max() == 2**40 + 3


@given(tensors(), tensors(), st.sampled_from((1, 4)))
def test_a_sum_has_the_elements_that_adding_gives(a: Tensor, b: Tensor, factor: int) -> None:
    total = added(a, b, factor)
    if total is None:
        assert (a + b).shape in (a.shape, b.shape)
        return
    assert torch.equal(total.tensor, a + b * factor)
    assert total.shape == tuple(total.tensor.shape)
    low, high = bounds(total)
    assert low <= total.tensor.min() <= total.tensor.max() <= high
    more = added(total, a)
    assert torch.equal(whole(more), total.tensor + a)
    rows = torch.tensor([2, 0, 0])
    of_rows, expected = taken(total, rows), taken(total.tensor, rows)
    assert torch.equal(whole(of_rows), whole(expected))
    thrice = multiplied(total, torch.full((1, 1, 1), -3))
    assert thrice is not None
    assert torch.equal(thrice.tensor, total.tensor * -3)
    assert bounds(thrice) == (-3 * high, -3 * low)


def test_bounds_of_a_sum_are_read_off_its_parts() -> None:
    total = added(torch.tensor([[5], [-9]]), torch.arange(8).view(1, 8), 4)
    assert total is not None
    assert bounds(total) == (-9, 33)


def test_the_parts_of_one_program_in_a_branch_may_merge_into_one() -> None:
    total = added(torch.tensor([[0], [8]]), torch.arange(8).view(1, 8))
    assert total is not None
    address = added(taken(total, torch.tensor([1])), torch.tensor([[100]]))
    assert whole(address).tolist() == [list(range(108, 116))]


def test_no_sum_may_wrap_around() -> None:
    lanes = torch.arange(8, dtype=torch.int32).view(1, 8)
    rows = torch.tensor([[0], [2**31 - 8]], dtype=torch.int32)
    total = added(rows, lanes)
    assert total is not None
    assert added(rows + 1, lanes) is None
    assert added(-rows - 8, lanes) is None  # from -2**31 on
    assert added(total, torch.ones(2, 1, dtype=torch.int32)) is None
    assert multiplied(total, torch.full((1, 1), 2, dtype=torch.int32)) is None


def test_what_has_wrapped_around_is_no_part() -> None:
    rows, lanes = torch.arange(2).view(2, 1), torch.arange(8).view(1, 8)
    operation = Operation("arith.addi", result_types=(Type("i32"),))
    vars(rows)["exact"] = Exact(rows + 2**32, Cause(operation, 2**32, None))  # type: ignore[arg-type]
    assert added(rows, lanes) is None
    assert added(lanes, rows) is None


PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


@given(tensors(), tensors(), st.integers(-30, 30), st.sampled_from(PREDICATES), st.booleans())
def test_comparisons(a: Tensor, b: Tensor, limit: int, predicate: str, turned: bool) -> None:
    total, number = added(a, b), torch.full((1, 1, 1), limit)
    if total is None:
        return
    types = (Type("i64", SIZES[1:]),) * 2
    op = Operation("arith.cmpi", attributes={"predicate": predicate}, operand_types=types)
    function = operations.find(op.name)
    operands = [number, total] if turned else [total, number]
    found = lazy.lazily(op, function)(op, operands, None)
    expected = function(op, list(map(whole, operands)), None)
    assert isinstance(expected, Tensor)
    assert torch.equal(found.expand(expected.shape), expected)


def test_a_comparison_that_is_clear_looks_at_no_element() -> None:
    total = added(torch.arange(4).view(4, 1), torch.arange(8).view(1, 8))
    op = Operation(
        "arith.cmpi", attributes={"predicate": "slt"}, operand_types=(Type("i64", (8,)),) * 2
    )
    compare = lazy.lazily(op, operations.find(op.name))
    assert compare(op, [total, torch.tensor([[11]])], None).tolist() == [[True]]
    assert compare(op, [total, torch.tensor([[10]])], None).shape == (4, 8)


masks = st.one_of(
    st.none(),
    st.tuples(st.sampled_from((1, 3)), st.sampled_from((1, 2)), st.sampled_from((1, 4))).flatmap(
        lambda shape: st.lists(
            st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))
        ).map(lambda drawn: torch.tensor(drawn).view(shape))
    ),
    st.integers(0, 4).map(lambda columns: (torch.arange(4) < columns).view(1, 1, 4)),
)


def lanes_of(addresses: Tensor | Sum, mask: Tensor | None, apart: bool) -> Lanes:
    one = access("load", torch.zeros(1), torch.zeros(1, 1), mask, programs=torch.arange(3))
    return Lanes.of(replace(one, addresses=addresses), apart)


def same(one: Lanes, other: Lanes) -> None:
    assert one.count == other.count
    assert (one.counts == other.counts).all()
    assert one.addresses.tolist() == other.addresses.tolist()
    assert one.rows.tolist() == other.rows.tolist()
    if one.count:
        assert one.low <= one.addresses.min()
        assert one.high >= one.addresses.max()
        steps = np.diff(one.addresses) == one.access.itemsize
        assert (one.run == one.count) == steps.all()
        assert one.run * one.starts.size == one.count
    if not one.shared:
        assert one.programs.tolist() == other.programs.tolist()


@given(tensors((400,)), tensors((400,)), masks, st.booleans())
def test_lanes(a: Tensor, b: Tensor, mask: Tensor | None, apart: bool) -> None:
    total = added(a, b, 4)
    if total is None:
        return
    total = total.expanded(Type("i64", SIZES[1:]))
    elements = total.tensor.contiguous()
    one = lanes_of(total, mask, apart)
    # As many masks as programs: those of other forms are the same, but known at once.
    every = None if mask is None else mask.expand(one.shape)
    each = lanes_of(elements, every, apart)
    same(one, each)
    same(one.apart(), each.apart())
    values = torch.arange(24, dtype=torch.float32).view(SIZES)[: one.shape[0]]
    bits = one.bits(values)
    assert bits.tolist() == each.bits(values).tolist()
    other = torch.full((1, 1, 1), -1.0)
    assert one.value(bits, other).tolist() == each.value(bits, other).tolist()
    inside = np.arange(one.count) % 3 == 0
    same(one.only(inside), each.only(inside))


@pytest.mark.parametrize("gap", [0, 3])
@pytest.mark.parametrize("columns", [4, 3, 1])
def test_rows_are_moved_as_wholes(gap: int, columns: int) -> None:
    x, out = torch.arange(30.0), torch.zeros(30)
    memory = memory_of(x=x, out=out)
    mask = (torch.arange(4) < columns).view(1, 4)

    def rows(kind: Kind, tensor: Tensor) -> Access:
        lanes = torch.arange(4).view(1, 4)
        firsts = tensor.data_ptr() + torch.tensor([[3], [0], [5]]) * 4 * (1 + gap // 3)
        total = added(firsts, lanes, 4)
        assert total is not None
        one = access(kind, tensor, torch.zeros(1, 1), mask, programs=torch.arange(3))
        return replace(one, addresses=total)

    loaded = memory.load(rows("load", x), torch.full((1, 1), -1.0))
    memory.store(rows("store", out), loaded * 10)
    expected = torch.zeros(30)
    for row, first in zip(loaded.tolist(), (3, 0, 5), strict=True):
        at = first * (1 + gap // 3)
        assert row == [*map(float, range(at, at + columns)), *[-1.0] * (4 - columns)]
        expected[at : at + columns] = x[at : at + columns] * 10
    assert torch.equal(out, expected)


def test_waiting_programs_compare_the_elements_of_sums() -> None:
    one, same, other = (
        added(torch.arange(2).view(1, 2, 1), torch.arange(3).view(1, 1, 3) + more)
        for more in (0, 0, 1)
    )
    assert one is not None
    assert same is not None
    assert other is not None
    assert equal([one], [same])
    assert not equal([one], [other])
