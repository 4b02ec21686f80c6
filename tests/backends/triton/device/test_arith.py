"""The dialect arith against Python's integers and numpy's floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from grader.backends.triton.device import operations
from grader.backends.triton.device.ttir.records import Operation, Type

from .single import execute

INTEGERS = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def wrapped(number: int, bits: int) -> int:
    return (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def unsigned(number: int, bits: int) -> int:
    return number % (1 << bits)


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def shift_left(a: int, b: int, bits: int) -> int:
    amount = unsigned(b, bits)
    return a << amount if amount < bits else 0


def shift_right(a: int, b: int, bits: int) -> int:
    return a >> min(unsigned(b, bits), bits - 1)


def shift_right_unsigned(a: int, b: int, bits: int) -> int:
    amount = unsigned(b, bits)
    return unsigned(a, bits) >> amount if amount < bits else 0


SIGNED: dict[str, Callable[[int, int, int], int]] = {
    "arith.addi": lambda a, b, _: a + b,
    "arith.subi": lambda a, b, _: a - b,
    "arith.muli": lambda a, b, _: a * b,
    "arith.andi": lambda a, b, _: a & b,
    "arith.ori": lambda a, b, _: a | b,
    "arith.xori": lambda a, b, _: a ^ b,
    "arith.maxsi": lambda a, b, _: max(a, b),
    "arith.minsi": lambda a, b, _: min(a, b),
    "arith.shli": shift_left,
    "arith.shrsi": shift_right,
    "arith.shrui": shift_right_unsigned,
    "arith.divsi": lambda a, b, _: truncated(a, b) if b else -1,
    "arith.remsi": lambda a, b, _: a - b * truncated(a, b) if b else a,
    "arith.maxui": lambda a, b, bits: max(unsigned(a, bits), unsigned(b, bits)),
    "arith.minui": lambda a, b, bits: min(unsigned(a, bits), unsigned(b, bits)),
    "arith.divui": lambda a, b, bits: unsigned(a, bits) // unsigned(b, bits) if b else -1,
    "arith.remui": lambda a, b, bits: unsigned(a, bits) % unsigned(b, bits) if b else a,
    "tt.mulhiui": lambda a, b, bits: (unsigned(a, bits) * unsigned(b, bits)) >> bits,
}
NONZERO: dict[str, Callable[[int, int, int], int]] = {
    "arith.floordivsi": lambda a, b, _: a // b,
    "arith.ceildivsi": lambda a, b, _: -(-a // b),
    "arith.ceildivui": lambda a, b, bits: -(-unsigned(a, bits) // unsigned(b, bits)),
}


@st.composite
def pairs(draw: Any) -> tuple[int, int, int]:
    bits = draw(st.sampled_from([*INTEGERS]))
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    edge = st.sampled_from([low, low + 1, -2, -1, 0, 1, 2, bits - 1, bits, bits + 1, high])
    number = st.integers(low, high) | edge
    return bits, draw(number), draw(number)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIGNED)
@given(pairs())
@example((32, -(1 << 31), -1))
@example((64, -(1 << 63), -1))
@example((64, 5, 0))
@example((8, -128, 9))
def test_integers_wrap_and_divide_as_on_a_gpu(name: str, numbers: tuple[int, int, int]) -> None:
    bits, a, b = numbers
    operands = [torch.tensor([each], dtype=INTEGERS[bits]) for each in (a, b)]
    result = execute(name, *operands)
    assert result.dtype == INTEGERS[bits]
    assert result.item() == wrapped(SIGNED[name](a, b, bits), bits)


@pytest.mark.parametrize("name", NONZERO)
@given(pairs())
def test_rounding_divisions(name: str, numbers: tuple[int, int, int]) -> None:
    bits, a, b = numbers
    operands = [torch.tensor([each], dtype=INTEGERS[bits]) for each in (a, b or 3)]
    expected = NONZERO[name](a, b or 3, bits)
    assert execute(name, *operands).item() == wrapped(expected, bits)


@given(pairs())
def test_long_products_and_sums(numbers: tuple[int, int, int]) -> None:
    bits, a, b = numbers
    operands = [torch.tensor([each], dtype=INTEGERS[bits]) for each in (a, b)]
    low, high = execute("arith.mulsi_extended", *operands)
    assert (low.item(), high.item()) == (wrapped(a * b, bits), (a * b) >> bits)
    ua, ub = unsigned(a, bits), unsigned(b, bits)
    low, high = execute("arith.mului_extended", *operands)
    assert unsigned(high.item(), bits) << bits | unsigned(low.item(), bits) == ua * ub
    total, carry = execute("arith.addui_extended", *operands)
    assert (carry.item() << bits) + unsigned(total.item(), bits) == ua + ub


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("arith.addi", [False, True, True, False]),
        ("arith.subi", [False, True, True, False]),
        ("arith.muli", [False, False, False, True]),
        ("arith.maxsi", [False, False, False, True]),
        ("arith.minsi", [False, True, True, True]),
        ("arith.maxui", [False, True, True, True]),
        ("arith.minui", [False, False, False, True]),
        ("arith.xori", [False, True, True, False]),
    ],
)
def test_one_bit_is_a_number_modulo_two(name: str, expected: list[bool]) -> None:
    a, b = torch.tensor([False, False, True, True]), torch.tensor([False, True, False, True])
    assert execute(name, a, b).tolist() == expected


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@given(pairs(), st.sampled_from([*COMPARISONS]))
def test_comparisons_of_integers(numbers: tuple[int, int, int], relation: str) -> None:
    bits, a, b = numbers
    operands = [torch.tensor([each], dtype=INTEGERS[bits]) for each in (a, b)]
    if relation in ("eq", "ne"):
        found = execute("arith.cmpi", *operands, predicate=relation)
        assert found.item() is COMPARISONS[relation](a, b)
        return
    found = execute("arith.cmpi", *operands, predicate=f"s{relation}")
    assert found.item() is COMPARISONS[relation](a, b)
    found = execute("arith.cmpi", *operands, predicate=f"u{relation}")
    assert found.item() is COMPARISONS[relation](unsigned(a, bits), unsigned(b, bits))


def test_one_bit_compares_as_minus_one_or_as_one() -> None:
    true, false = torch.tensor([True]), torch.tensor([False])
    assert execute("arith.cmpi", true, false, predicate="slt").item() is True
    assert execute("arith.cmpi", true, false, predicate="ult").item() is False


@pytest.mark.parametrize("relation", [*COMPARISONS])
@pytest.mark.parametrize("dtype", [*FLOATS, torch.float8_e4m3fn])
def test_comparisons_of_floats_with_nan(relation: str, dtype: torch.dtype) -> None:
    numbers = [1.0, 2.0, math.nan]
    a = torch.tensor([x for x in numbers for _ in numbers]).to(dtype)
    b = torch.tensor(numbers * 3).to(dtype)
    pairs_ = list(zip(a.tolist(), b.tolist(), strict=True))
    either_nan = [math.isnan(x) or math.isnan(y) for x, y in pairs_]
    plain = [COMPARISONS[relation](x, y) for x, y in pairs_]
    ordered = execute("arith.cmpf", a, b, predicate=f"o{relation}").tolist()
    unordered = execute("arith.cmpf", a, b, predicate=f"u{relation}").tolist()
    assert ordered == [p and not nan for p, nan in zip(plain, either_nan, strict=True)]
    assert unordered == [p or nan for p, nan in zip(plain, either_nan, strict=True)]
    assert execute("arith.cmpf", a, b, predicate="uno").tolist() == either_nan
    assert execute("arith.cmpf", a, b, predicate="ord").tolist() == [not n for n in either_nan]


def test_number_or_nan_as_the_larger_one() -> None:
    a, b = torch.tensor([1.0, math.nan, math.nan]), torch.tensor([math.nan, 2.0, math.nan])
    numbers = execute("arith.maxnumf", a, b).tolist()
    assert numbers[:2] == [1.0, 2.0]
    assert math.isnan(numbers[2])
    assert execute("arith.minnumf", a, b).tolist()[:2] == [1.0, 2.0]
    assert execute("arith.maximumf", a, b).isnan().all()
    assert execute("arith.minimumf", a, b).isnan().all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf", "remf"])
def test_each_operation_rounds_to_its_type(name: str, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(1000, generator=generator).to(dtype) for _ in range(2))
    operate = {
        "addf": torch.add,
        "subf": torch.sub,
        "mulf": torch.mul,
        "divf": torch.div,
        "remf": torch.fmod,
    }[name]
    result = execute(f"arith.{name}", a, b)
    assert result.dtype == dtype
    assert torch.equal(result, operate(a.double(), b.double()).to(dtype))


def test_selection_by_one_condition_for_a_whole_tensor() -> None:
    a, b = torch.ones(2, 3), torch.zeros(2, 3)
    chosen = execute("arith.select", torch.tensor([True, False]), a, b, to=torch.float32)
    assert chosen.tolist() == [[1, 1, 1], [0, 0, 0]]


@given(pairs())
def test_integer_casts(numbers: tuple[int, int, int]) -> None:
    bits, a, _ = numbers
    value = torch.tensor([a], dtype=INTEGERS[bits])
    assert execute("arith.extsi", value, to=torch.int64).item() == a
    assert execute("arith.extui", value, to=torch.int64).item() == wrapped(unsigned(a, bits), 64)
    assert execute("arith.trunci", value, to=torch.int8).item() == wrapped(a, 8)
    assert execute("arith.trunci", value, to=torch.bool).item() is bool(a & 1)
    assert execute("arith.uitofp", value, to=torch.float64).item() == float(unsigned(a, bits))
    expected = float(np.array([unsigned(a, bits)], np.uint64).astype(np.float32)[0])
    assert execute("arith.uitofp", value, to=torch.float32).item() == expected
    assert execute("arith.sitofp", value, to=torch.float64).item() == float(a)


def test_one_bit_as_a_number() -> None:
    true = torch.tensor([True])
    assert execute("arith.extsi", true, to=torch.int32).item() == -1
    assert execute("arith.extui", true, to=torch.int32).item() == 1
    assert execute("arith.sitofp", true, to=torch.float32).item() == -1.0
    assert execute("arith.uitofp", true, to=torch.float32).item() == 1.0


def saturated(number: float, bits: int, *, is_unsigned: bool, nan: int) -> int:
    """The PTX ISA's `cvt.rzi` to 16 bits at least, of which an i8 keeps the lower half."""
    wide = max(16, bits)
    low, high = (0, (1 << wide) - 1) if is_unsigned else (-(1 << (wide - 1)), (1 << (wide - 1)) - 1)
    if math.isnan(number):
        whole = nan
    elif math.isinf(number):
        whole = high if number > 0 else low
    else:
        whole = min(high, max(low, math.trunc(number)))
    return wrapped(whole, bits)


EDGES = [0.0, -0.5, 0.99, 2.0**15, 2.0**16, 2.0**31, 2.0**32, 2.0**63, 2.0**64, math.inf, math.nan]


@pytest.mark.slow
@pytest.mark.parametrize("bits", INTEGERS)
@pytest.mark.parametrize("dtype", FLOATS)
@given(st.floats(width=32) | st.sampled_from([*EDGES, *(-each for each in EDGES)]))
def test_floats_to_integers_saturate(bits: int, dtype: torch.dtype, number: float) -> None:
    value = torch.tensor([number], dtype=torch.float64).to(dtype)
    nan = 1 << (max(16, bits) - 1) if bits == 64 or dtype == torch.float64 else 0
    for name, is_unsigned in (("arith.fptosi", False), ("arith.fptoui", True)):
        result = execute(name, value, to=INTEGERS[bits]).item()
        assert result == saturated(value.item(), bits, is_unsigned=is_unsigned, nan=nan)


@given(st.floats(allow_nan=False))
@example(65519.999)
@example(1.0 + 2.0**-11 + 2.0**-40)
@example(2.0**-25 + 2.0**-60)
def test_float64_rounds_once_to_half_precision(number: float) -> None:
    value = torch.tensor([number], dtype=torch.float64)
    with np.errstate(over="ignore"):
        expected = float(np.array([number]).astype(np.float16)[0])
    assert execute("arith.truncf", value, to=torch.float16).item() == expected


@given(st.floats(-(2.0**100), 2.0**100))
@example(1.0 + 2.0**-8 + 2.0**-40)
@example(1.0 + 2.0**-7 + 2.0**-8 - 2.0**-40)
def test_float64_rounds_once_to_bfloat16(number: float) -> None:
    rounded = execute(
        "arith.truncf", torch.tensor([number], dtype=torch.float64), to=torch.bfloat16
    )
    one_step = float(np.spacing(np.float32(abs(rounded.item()) or 1e-38))) * 2.0**16
    assert abs(rounded.item() - number) <= one_step / 2


@given(st.floats(width=32))
@example(3.0e38)
@example(65535.0)
def test_rounding_towards_zero(number: float) -> None:
    value = torch.tensor([number])
    for dtype in (torch.bfloat16, torch.float16):
        result = execute("tt.fp_to_fp", value, to=dtype, rounding="rtz").item()
        if math.isnan(number):
            assert math.isnan(result)
        elif math.isinf(number):
            assert result == number
        else:
            largest = torch.finfo(dtype).max
            assert abs(result) <= min(abs(number), largest)
            nearest = value.to(dtype).item()
            if abs(nearest) <= abs(number):
                assert result == nearest


def test_float8_saturates() -> None:
    value = torch.tensor([1000.0, -1000.0, math.inf, 449.0, math.nan, 1.0])
    result = execute("tt.fp_to_fp", value, to=torch.float8_e4m3fn, rounding="rtne").float()
    assert result[:4].tolist() == [448.0, -448.0, 448.0, 448.0]
    assert math.isnan(result[4])
    assert result[5] == 1.0
    value = torch.tensor([1e9, -math.inf])
    result = execute("tt.fp_to_fp", value, to=torch.float8_e5m2, rounding="rtne").float()
    assert result.tolist() == [57344.0, -57344.0]


def test_bits_are_kept_by_a_bitcast() -> None:
    value = torch.tensor([[1.0, -2.0]])
    assert torch.equal(execute("arith.bitcast", value, to=torch.int32), value.view(torch.int32))


def test_division_of_broadcast_values() -> None:
    """A splat has one element where its type has many."""
    rows, columns = torch.arange(6).reshape(2, 3), torch.tensor([[2]])
    assert execute("arith.divui", rows, columns).tolist() == [[0, 0, 1], [1, 2, 2]]
    assert execute("arith.remsi", columns, rows + 1).shape == (2, 3)
    a: Tensor = torch.tensor([[5]], dtype=torch.int32)
    assert execute("arith.divsi", a, torch.tensor([[0, 1, -1]], dtype=torch.int32)).tolist() == [
        [-1, 5, -5]
    ]


def test_operations_that_only_passes_of_the_compiler_make() -> None:
    x = torch.tensor([1.5, -0.0])
    assert execute("arith.negf", x).signbit().tolist() == [True, False]
    i = torch.tensor([-1, 3], dtype=torch.int32)
    assert execute("arith.index_cast", i, to=torch.int64).tolist() == [-1, 3]
    assert execute("arith.index_castui", i, to=torch.int64).tolist() == [2**32 - 1, 3]


def test_poison_is_nan_and_a_large_odd_number() -> None:
    nothing = operations.find("ub.poison")
    floats, integers = (
        nothing(Operation("ub.poison", ("x",), result_types=(Type(element, (4,)),)), [], None)
        for element in ("f32", "i32")
    )
    assert floats.isnan().all()
    assert int(integers.flatten()[0]) % 2 == 1
    assert int(integers.flatten()[0]) > 2**30
