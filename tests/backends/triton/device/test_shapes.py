"""Constants, reshaping and rearranging, for values that stand for more elements than they have."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from grader.backends.triton.device import operations
from grader.backends.triton.device.faults import NotSimulated
from grader.backends.triton.device.ttir.records import Dense, Operation, Type

from .single import execute


def constant(value: Any, type_: Type) -> torch.Tensor:
    op = Operation("arith.constant", ("c",), attributes={"value": value}, result_types=(type_,))
    result = operations.find(op.name)(op, [], None)
    assert isinstance(result, torch.Tensor)
    return result


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (7, Type("i32"), torch.tensor([7], dtype=torch.int32)),
        (-1, Type("i64"), torch.tensor([-1])),
        (255, Type("i8"), torch.tensor([-1], dtype=torch.int8)),
        (True, Type("i1"), torch.tensor([True])),
        (0.1, Type("bf16"), torch.tensor([0.1], dtype=torch.bfloat16)),
        (math.inf, Type("f16"), torch.tensor([math.inf], dtype=torch.float16)),
        (Dense((1.5,)), Type("f32", (4, 8)), torch.tensor([[[1.5]]])),
        (Dense((1, 2, 3, 4)), Type("i32", (2, 2)), torch.tensor([[[1, 2], [3, 4]]])),
        (Dense((2.0,)), Type("f8E5M2", (4,)), torch.tensor([[2.0]]).to(torch.float8_e5m2)),
    ],
)
def test_constants(value: Any, type_: Type, expected: torch.Tensor) -> None:
    result = constant(value, type_)
    assert result.shape == expected.shape
    assert result.tolist() == expected.tolist()


def test_a_constant_keeps_the_payload_of_its_nan() -> None:
    result = constant(Dense((math.nan,), bits=(0x7FC00123,)), Type("f32"))
    assert result.view(torch.int32).tolist() == [0x7FC00123]


def test_a_type_that_torch_lacks_is_not_simulated() -> None:
    with pytest.raises(NotSimulated, match="f4E2M1FN"):
        constant(1.0, Type("f4E2M1FN"))


def test_a_splat_takes_no_memory() -> None:
    value = torch.tensor([1.0, 2.0])
    assert execute("tt.splat", value, to=Type("f32", (4, 8))).shape == (2, 1, 1)
    assert execute("tt.unsplat", torch.tensor([[[5]]]), to=Type("i64")).tolist() == [5]


def test_reshape() -> None:
    rows = torch.arange(12).reshape(2, 6)
    assert execute("tt.reshape", rows, to=Type("i64", (2, 3))).tolist() == [
        [[0, 1, 2], [3, 4, 5]],
        [[6, 7, 8], [9, 10, 11]],
    ]
    assert execute("tt.reshape", rows[:, :1], to=Type("i64", (1, 1))).shape == (2, 1, 1)


def test_a_partly_splat_value_is_expanded_before_it_is_reshaped() -> None:
    op = Operation(
        "tt.reshape",
        operand_types=(Type("i64", (2, 3)),),
        result_types=(Type("i64", (6,)),),
    )
    result = operations.find(op.name)(op, [torch.tensor([[[1, 2, 3]]])], None)
    assert isinstance(result, torch.Tensor)
    assert result.tolist() == [[1, 2, 3, 1, 2, 3]]


def test_rearranging() -> None:
    value = torch.arange(6).reshape(1, 2, 3)
    swapped = execute("tt.trans", value, to=Type("i64", (3, 2)), order=(1, 0))
    assert torch.equal(swapped[0], value[0].T)
    column = execute("tt.expand_dims", torch.arange(3)[None], to=Type("i64", (3, 1)), axis=1)
    assert column.shape == (1, 3, 1)
    a, b = torch.arange(3)[None], torch.tensor([[7]])
    joined = execute("tt.join", a, b, to=Type("i64", (3, 2)))
    assert joined.tolist() == [[[0, 7], [1, 7], [2, 7]]]
    left, right = execute("tt.split", joined, to=Type("i64", (3,)))
    assert (left.tolist(), right.tolist()) == ([[0, 1, 2]], [[7, 7, 7]])
    both = execute("tt.cat", a, torch.arange(6).reshape(2, 3), to=Type("i64", (6,)))
    assert both.tolist() == [[0, 1, 2, 0, 1, 2], [0, 1, 2, 3, 4, 5]]


def test_gather_beyond_the_axis_is_poison() -> None:
    source = torch.tensor([[1.0, 2.0, 3.0]])
    index = torch.tensor([[2, 0, 3, -1]], dtype=torch.int32)
    result = execute("tt.gather", source, index, to=Type("f32", (4,)), axis=0)
    assert result[0, :2].tolist() == [3.0, 1.0]
    assert result[0, 2:].isnan().all()


def test_histograms_of_several_programs() -> None:
    drawn = torch.tensor([[0, 1, 1, 9], [3, 3, 3, -1]], dtype=torch.int32)
    result = execute("tt.histogram", drawn, to=Type("i32", (4,)))
    assert result.tolist() == [[1, 2, 0, 0], [0, 0, 0, 3]]
    masked = execute("tt.histogram", drawn, drawn < 3, to=Type("i32", (4,)))
    assert masked.tolist() == [[1, 2, 0, 0], [0, 0, 0, 0]]
