"""Atomic operations against one lane after the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grader.backends.triton.device import operations
from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.ttir.records import Operation, Site, Type
from grader.backends.triton.device.values import DTYPES

from .memories import memory_of

NAMES = {dtype: name for name, dtype in DTYPES.items() if name not in ("index", "ptr")}
COMBINE: dict[str, Any] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "add": lambda a, b: a + b,
    "fadd": lambda a, b: a + b,
    "max": torch.maximum,
    "min": torch.minimum,
    "exch": lambda a, b: b,
}


def execute(
    name: str,
    tensor: Tensor,
    index: Tensor,
    *values: Tensor,
    mask: Tensor | None = None,
    **attributes: str,
) -> Tensor:
    """Execute an atomic operation by a program for each row of `index`."""
    element = Type(NAMES[tensor.dtype])
    shape = tuple(index.shape[1:]) or None
    type_ = Type(element.element, shape)
    op = Operation(
        name,
        attributes={"sem": "acq_rel", "scope": "gpu"} | attributes,
        operand_types=(Type("ptr", shape, element), *[type_] * len(values)),
        result_types=(type_,),
        site=Site("kernel.py", 1),
    )
    programs = torch.arange(index.shape[0])
    run = SimpleNamespace(memory=memory_of(x=tensor), programs=programs, loops=())
    addresses = tensor.data_ptr() + index.to(torch.int64) * tensor.element_size()
    operands = [addresses, *values, *([] if mask is None else [mask])]
    result = operations.find(name)(op, operands, run)
    assert isinstance(result, Tensor)
    return result


CASES = [
    *((kind, dtype) for kind in ("and", "or", "xor", "add", "max", "min", "exch")
      for dtype in (torch.int32, torch.int64)),
    *((kind, dtype) for kind in ("fadd", "exch")
      for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "dtype"), CASES, ids=str)
@pytest.mark.parametrize("cells", [1, 3, 50])
def test_every_kind_rounds_and_wraps_lane_after_lane(
    kind: str, dtype: torch.dtype, cells: int
) -> None:
    generator = torch.Generator().manual_seed(cells)
    if dtype.is_floating_point:
        x, values = (torch.randn(n, generator=generator).to(dtype) for n in (cells, 60))
    else:
        bounds = torch.iinfo(dtype)
        x, values = (
            torch.randint(bounds.min, bounds.max, (n,), dtype=dtype, generator=generator)
            for n in (cells, 60)
        )
    index = torch.randint(0, cells, (6, 10), generator=generator)
    mask = torch.rand(6, 10, generator=generator) < 0.8
    expected, old = x.clone(), values.clone()
    for lane in mask.flatten().nonzero().flatten().tolist():
        at = int(index.flatten()[lane])
        old[lane] = expected[at]
        expected[at] = COMBINE[kind](expected[at], values[lane])
    found = execute("tt.atomic_rmw", x, index, values.view(6, 10), mask=mask, atomic_rmw_op=kind)
    assert torch.equal(x, expected)
    assert torch.equal(found[mask], old.view(6, 10)[mask])


@pytest.mark.parametrize(("kind", "expected"), [("umax", [-1, 2]), ("umin", [3, 0])])
def test_unsigned(kind: str, expected: list[int]) -> None:
    x = torch.tensor([3, 2], dtype=torch.int32)
    values = torch.tensor([[-1, 0, 5, 1]], dtype=torch.int32)
    if kind == "umin":
        values[0, 2] = 4
    index = torch.tensor([[0, 1, 0, 1]])
    execute("tt.atomic_rmw", x, index, values, atomic_rmw_op=kind)
    assert x.tolist() == expected


def test_tickets_of_programs() -> None:
    counter = torch.zeros(1, dtype=torch.int32)
    one = torch.ones(1, dtype=torch.int32)
    tickets = execute("tt.atomic_rmw", counter, torch.zeros(5000), one, atomic_rmw_op="add")
    assert tickets.tolist() == list(range(5000))
    assert counter.tolist() == [5000]


def test_an_atomic_that_is_the_same_for_all_happens_for_each() -> None:
    counter = torch.zeros(2, dtype=torch.int32)
    memory = memory_of(x=counter)
    run = SimpleNamespace(memory=memory, programs=torch.arange(7), loops=())
    element = Type("i32")
    op = Operation(
        "tt.atomic_rmw",
        attributes={"sem": "relaxed", "atomic_rmw_op": "add"},
        operand_types=(Type("ptr", None, element), element),
        result_types=(element,),
    )
    operands = [torch.tensor([counter.data_ptr()]), torch.ones(1, dtype=torch.int32)]
    tickets = operations.find("tt.atomic_rmw")(op, operands, run)
    assert isinstance(tickets, Tensor)
    assert tickets.tolist() == list(range(7))
    assert counter.tolist() == [7, 0]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12
    )
)
def test_compare_and_swap(lanes: list[tuple[int, int, int]]) -> None:
    x = torch.tensor([0, 1, 2], dtype=torch.int32)
    index, compared, values = (
        torch.tensor(each, dtype=torch.int32) for each in zip(*lanes, strict=True)
    )
    expected, old = [0, 1, 2], []
    for at, compare, value in lanes:
        old.append(expected[at])
        if expected[at] == compare:
            expected[at] = value
    found = execute("tt.atomic_cas", x, index, compared, values)
    assert (x.tolist(), found.tolist()) == (expected, old)


def test_compare_and_swap_compares_bits() -> None:
    x = torch.tensor([float("nan"), -0.0])
    index, compared = torch.tensor([[0, 1]]), torch.tensor([[float("nan"), 0.0]])
    execute("tt.atomic_cas", x, index, compared, torch.ones(1, 2))
    assert x[0] == 1
    assert x[1] == 0


@pytest.mark.parametrize("kind", ["nand", "fadd"])
def test_no_such_atomic(kind: str) -> None:
    x = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(Malformed):
        execute("tt.atomic_rmw", x, torch.zeros(1), x.clone(), atomic_rmw_op=kind)
