"""Kernels of many styles on the whole simulated GPU, held to torch and to a GPU's rules."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from whole_gpu import Gpu, Refused, whole_gpu

from grader.backends.triton.driver.errors import DeviceError
from grader.worker.races import runs_backwards

pytestmark = pytest.mark.slow

BF16 = torch.bfloat16


@pytest.fixture(scope="module", autouse=True)
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with whole_gpu(tmp_path_factory.mktemp("cache"), __file__) as simulated:
        global run
        run = simulated.run
        yield simulated


def caught_by(kernel, grid, *args, **options) -> Refused:
    with pytest.raises(Refused) as caught:
        run(kernel, grid, *args, **options)
    return caught.value


def lines_of(error: Refused) -> list[str]:
    source = inspect.getsource(inspect.getmodule(lines_of)).splitlines()
    return [source[line - 1].strip() for line in error.lines]


def bits(tensor: torch.Tensor) -> np.ndarray:
    return tensor.view(torch.int16).numpy().view(np.uint16)


def bfloat16(pattern: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(pattern.astype(np.uint16).view(np.int16)).view(BF16)


def assert_same(got: torch.Tensor, expected: torch.Tensor) -> None:
    """The same bits, except that a NaN is a NaN."""
    torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
    real = ~expected.isnan()
    if got.is_floating_point():
        assert torch.equal(got[real].signbit(), expected[real].signbit())


ALL = bfloat16(np.arange(65_536))  # Inf, subnormal and both zeros among them
ALL[ALL.isnan()] = torch.nan  # the other bits of NaN stand for undefined values
SHUFFLED = ALL[torch.from_numpy(np.random.default_rng(1).permutation(65_536))]


# --- masks ----------------------------------------------------------------------------------------


@triton.jit
def masked_by_both_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = (row < rows) & (at < columns)
    tl.store(out_ptr + row * columns + at, tl.load(x_ptr + row * columns + at, inside), inside)
    swapped = (at < columns) & (row < rows)
    tl.store(out_ptr + row * columns + at, tl.load(x_ptr + row * columns + at, swapped), swapped)


def test_a_comparison_of_int64_and_one_of_int32_make_a_mask():
    x = torch.arange(6.0)
    out = torch.zeros(6)
    run(masked_by_both_kernel, (4,), x, out, 2, 3, BLOCK=8)
    assert torch.equal(out, x)


# --- conversions ----------------------------------------------------------------------------------


def float32_patterns() -> np.ndarray:
    rng = np.random.default_rng(2)
    anything = rng.integers(0, 2**32, 200_000, dtype=np.uint32)
    ties = (np.arange(65_536, dtype=np.uint32) << 16) | 0x8000
    return np.concatenate([anything, ties, ties - 1, ties + 1])


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    """A store converts to the dtype that it stores."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


def converted(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    out = torch.zeros(x.shape, dtype=dtype)
    run(copy, (triton.cdiv(x.numel(), 8192),), x, out, x.numel(), BLOCK=8192)
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
def test_kernels_convert_from_and_to_float_dtypes(dtype):
    assert_same(converted(ALL, dtype), ALL.to(dtype))
    values = torch.from_numpy(float32_patterns().view(np.float32)).to(dtype)
    assert_same(converted(values, BF16), values.to(BF16))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
def test_kernels_convert_from_and_to_integers(dtype):
    limit = min(2**24, torch.iinfo(dtype).max)  # beyond, torch rounds twice
    integers = torch.randint(-limit, limit, (5000,), dtype=dtype)
    assert_same(converted(integers, BF16), integers.to(BF16))
    small = (torch.rand(5000) * 240 - 120).to(BF16)
    assert_same(converted(small, dtype), small.to(dtype))


@triton.jit
def truncate(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    wide = tl.load(x + at)
    tl.store(out + at, wide.to(tl.bfloat16, fp_downcast_rounding="rtz"))


def test_a_cast_that_asks_for_truncation_truncates():
    x = torch.tensor([1 + 2**-7 + 2**-8, -(1 + 2**-7 + 2**-8), float("inf"), 3.4e38])
    out = torch.zeros(4, dtype=BF16)
    run(truncate, (1,), x, out, BLOCK=4)
    assert out.tolist() == [1 + 2**-7, -(1 + 2**-7), float("inf"), float.fromhex("0x1.FEp127")]


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("wide", [torch.float32, torch.float16, BF16], ids=str)
def test_kernels_convert_from_and_to_floats_of_8_bits(dtype, wide):
    every = torch.arange(256).to(torch.uint8).view(dtype)
    assert_same(converted(every, wide), every.to(wide))
    most = torch.finfo(dtype).max
    values = torch.from_numpy(float32_patterns().view(np.float32)).to(wide)
    # On a GPU Triton's conversion stops at the largest number, and so does that of infinity.
    expected = values.float().clamp(-most, most).to(dtype)
    assert_same(converted(values, dtype).float(), expected.float())


@triton.jit
def truncate_to_8_bits(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    wide = tl.load(x + at)
    tl.store(out + at, wide.to(tl.float8e5, fp_downcast_rounding="rtz"))


def test_a_cast_to_8_bits_may_truncate_too():
    x = torch.tensor([1.24, -1.24, 1e9, 7.99])
    out = torch.zeros(4, dtype=torch.float8_e5m2)
    run(truncate_to_8_bits, (1,), x, out, BLOCK=4)
    assert out.tolist() == [1.0, -1.0, 57344.0, 7.0]


@triton.jit
def choose(x, y, out, first, n, BLOCK: tl.constexpr, NEGATE: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n), tl.load(y + at, mask=at < n)
    chosen = tl.where(first, a, b)
    if first:
        chosen += 1
    tl.store(out + at, -chosen if NEGATE else chosen, mask=at < n)


@pytest.mark.parametrize("first", [True, False])
def test_a_kernel_takes_a_bool(first):
    x, y, out = torch.tensor([1, 2]), torch.tensor([5, 6]), torch.zeros(2, dtype=torch.int64)
    run(choose, (1,), x, y, out, first, 2, BLOCK=2, NEGATE=False)
    assert out.tolist() == ([2, 3] if first else [5, 6])
    run(choose, (1,), x, y, out, n=2, first=first, BLOCK=2, NEGATE=True)
    assert out.tolist() == ([-2, -3] if first else [-5, -6])


# --- arithmetic -----------------------------------------------------------------------------------


@triton.jit
def binary(x, y, out, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at), tl.load(y + at)
    if OP == "add":
        r = a + b
    elif OP == "sub":
        r = a - b
    elif OP == "mul":
        r = a * b
    elif OP == "div":
        r = a / b
    elif OP == "max":
        r = tl.maximum(a, b)
    elif OP == "min":
        r = tl.minimum(a, b)
    elif OP == "clamp":
        r = tl.clamp(a, -1.0, 2.5)
    elif OP == "clamp and keep NaN":
        r = tl.clamp(a, -1.0, 2.5, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "less":
        r = a < b
    elif OP == "equal":
        r = a == b
    elif OP == "where":
        r = tl.where(a > 0, a, b)
    elif OP == "negative":
        r = -a
    elif OP == "abs":
        r = tl.abs(a)
    elif OP == "exp":
        r = tl.exp(a.to(tl.float32))
    elif OP == "two":
        r = (a + b) * b
    else:
        r = a * 1.5 + 0.1
    tl.store(out + at, r)


ANSWERS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "where": lambda a, b: torch.where(a > 0, a, b),
    "abs": lambda a, b: a.abs(),
    "two": lambda a, b: (a + b) * b,
    "scalars": lambda a, b: a * torch.tensor(1.5, dtype=BF16) + torch.tensor(0.1, dtype=BF16),
}


def computed(op: str, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype = BF16) -> torch.Tensor:
    out = torch.zeros(a.shape, dtype=dtype)
    run(binary, (a.numel() // 8192,), a, b, out, OP=op, BLOCK=8192)
    return out


@pytest.mark.parametrize("op", ANSWERS)
def test_arithmetic_on_every_bfloat16_as_in_torch(op):
    expected = ANSWERS[op](ALL, SHUFFLED)
    assert_same(computed(op, ALL, SHUFFLED, expected.dtype), expected)


@pytest.mark.parametrize("op", ["max", "min", "clamp", "clamp and keep NaN", "negative"])
def test_arithmetic_on_every_number_in_bfloat16(op):
    """Without NaN and zeros: what becomes of NaN and -0 here differs between versions of Triton."""
    one = torch.ones((), dtype=BF16)
    a, b = (torch.where(x.isnan() | (x == 0), one, x) for x in (ALL, SHUFFLED))
    expected = {
        "max": torch.maximum(a, b),
        "min": torch.minimum(a, b),
        "clamp": a.clamp(-1.0, 2.5),
        "clamp and keep NaN": a.clamp(-1.0, 2.5),
        "negative": -a,
    }[op]
    assert_same(computed(op, a, b), expected)


def test_exp_overflows_to_inf_without_a_warning():
    got, expected = computed("exp", ALL, ALL, torch.float32), ALL.float().exp()
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-45, equal_nan=True)


@triton.jit
def multiply_add(x, y, z, out):
    tl.store(out, tl.fma(tl.load(x), tl.load(y), tl.load(z)))


def test_fma_rounds_once():
    """The product is a tie between two bfloat16, and z just tips it down."""
    x, y, z = (torch.tensor([v], dtype=BF16) for v in (1 + 2**-7, 1.5, -(2.0**-40)))
    out = torch.zeros(1, dtype=BF16)
    run(multiply_add, (1,), x, y, z, out)
    assert float(out) == 1.5 + 2**-7


@triton.jit
def product(x, y, out, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = row * N + column
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(y + at)))


def test_dot_multiplies_bfloat16_exactly_and_sums_in_float32():
    x, y = (torch.randint(-9, 9, (16, 16)).to(BF16) / 8 for _ in range(2))
    out = torch.zeros(16, 16)
    run(product, (1,), x, y, out, N=16)
    assert_same(out, x.float() @ y.float())


# --- reductions and scans -------------------------------------------------------------------------


@triton.jit
def combine_add(a, b):
    return a + b


@triton.jit
def reductions(x, sums, largest, where, running, R: tl.constexpr, C: tl.constexpr):
    rows, columns = tl.arange(0, R), tl.arange(0, C)
    block = tl.load(x + rows[:, None] * C + columns[None, :])
    tl.store(sums + rows, tl.sum(block, axis=1))
    tl.store(largest + columns, tl.max(block, axis=0))
    tl.store(where + rows, tl.argmax(block, axis=1))
    at = rows[:, None] * C + columns[None, :]
    tl.store(running + at, tl.associative_scan(block, 1, combine_add))


def test_reductions_of_bfloat16():
    x = torch.randn(4, 64).to(BF16)
    sums, largest = torch.zeros(4, dtype=BF16), torch.zeros(64, dtype=BF16)
    where, running = torch.zeros(4, dtype=torch.int32), torch.zeros(4, 64, dtype=BF16)
    run(reductions, (1,), x, sums, largest, where, running, R=4, C=64)
    torch.testing.assert_close(sums.float(), x.float().sum(1), rtol=0.05, atol=0.25)
    assert_same(largest, x.max(dim=0).values)
    assert_same(x.gather(1, where.long()[:, None])[:, 0], x.max(dim=1).values)
    torch.testing.assert_close(running.float(), x.float().cumsum(1), rtol=0.05, atol=0.25)


@triton.jit
def running_totals(x, sums, products, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(sums + at, tl.cumsum(tl.load(x + at), reverse=True))
    tl.store(products + at, tl.cumprod(tl.load(x + at)))


def test_running_sums_and_products_of_bfloat16():
    """Of whole numbers so small that no version of Triton rounds."""
    x = torch.tensor([1, 2, -1, 1, 2, 2, 1, -2], dtype=BF16)
    sums, products = torch.zeros_like(x), torch.zeros_like(x)
    run(running_totals, (1,), x, sums, products, BLOCK=8)
    assert_same(sums, x.flip(0).cumsum(0).flip(0))
    assert_same(products, x.cumprod(0))


@triton.jit
def whole_sum(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    block = tl.load(x + at[:, None] * BLOCK + at[None, :])
    tl.store(out, tl.sum(block))
    kept = tl.sum(block, axis=1, keep_dims=True)
    tl.store(out + 1, tl.sum(kept * 2))
    tl.static_assert(len(tl.sum(block, keep_dims=True).shape) == 2)


def test_a_sum_of_many_equal_terms_does_not_stop_growing():
    """One term after the other, a bfloat16 sum of ones ends at 256."""
    out = torch.zeros(2, dtype=BF16)
    run(whole_sum, (1,), torch.ones(32, 32, dtype=BF16), out, BLOCK=32)
    assert out.tolist() == [1024.0, 2048.0]


@triton.jit
def combine_softmax(max1, sum1, max2, sum2):
    largest = tl.maximum(max1, max2)
    return largest, sum1 * tl.exp(max1 - largest) + sum2 * tl.exp(max2 - largest)


@triton.jit
def combine_branching(a, b):
    return a if a > b else b


@triton.jit
def custom(x, softmax, largest, BLOCK: tl.constexpr, COMBINE: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    top, total = tl.reduce((v, v * 0 + 1), 0, combine_softmax)
    tl.store(softmax + at, tl.exp(v - top) / total)
    tl.store(largest, tl.reduce(v, 0, combine_branching))


def test_reductions_with_a_function_of_the_learner():
    """Also with one that branches, which only works on one element at a time."""
    x, softmax, largest = torch.randn(64), torch.zeros(64), torch.zeros(1)
    run(custom, (1,), x, softmax, largest, BLOCK=64, COMBINE=0)
    torch.testing.assert_close(softmax, x.softmax(0))
    assert_same(largest[0], x.max())


# --- addresses ------------------------------------------------------------------------------------


@triton.jit
def shift(x, out, n, offset, BLOCK: tl.constexpr, MASK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASK:
        v = tl.load(x + at + offset, mask=at + offset < n, other=0.0)
        tl.store(out + at, v, mask=at < n)
    else:
        v = tl.load(x + at + offset)  # no mask on the load
        tl.store(out + at, v)


def test_a_mask_keeps_the_load_and_the_store_in_bounds():
    x, out = torch.arange(5.0), torch.zeros(5)
    run(shift, (2,), x, out, 5, 1, BLOCK=4, MASK=True)
    assert out.tolist() == [1.0, 2.0, 3.0, 4.0, 0.0]


def test_a_load_out_of_bounds_says_where_and_keeps_the_line():
    error = caught_by(shift, (2,), torch.zeros(5), torch.zeros(8), 5, 0, BLOCK=4, MASK=False)
    assert error.kind == "out_of_bounds"
    assert str(error).startswith("load reads 3 elements past the end of x (x spans 5 elements)")
    assert "v = tl.load(x + at + offset)  # no mask on the load" in lines_of(error)


def test_a_store_out_of_bounds_of_an_argument_writes_nothing(gpu: Gpu):
    given = gpu.placed(x=torch.ones(8), out=torch.zeros(8))
    given["out"] = given["out"][:5]
    with pytest.raises(Refused, match=r"store writes 3 elements past the end of out \(out spans 5"):
        gpu.call(lambda: shift[(2,)](*given.values(), 5, 0, BLOCK=4, MASK=False), given)
    assert given["out"].as_strided((8,), (1,))[5:].tolist() == [0.0] * 3


@triton.jit
def atomics(counter, old, index):
    tl.atomic_add(counter + index, 1)
    tl.store(old, tl.atomic_cas(counter + index, 1, 5))


def test_atomics_work_and_are_checked():
    counter, old = torch.zeros(2, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    run(atomics, (1,), counter, old, 1)
    assert (counter.tolist(), old.tolist()) == ([0, 5], [1])
    error = caught_by(atomics, (1,), counter, old, -1)
    assert str(error).startswith("atomic updates 1 element before the start of counter")


@triton.jit
def compare_and_swap(counter, index):
    tl.atomic_cas(counter + index, 1, 5)


def test_compare_and_swap_is_checked():
    error = caught_by(compare_and_swap, (1,), torch.zeros(2, dtype=torch.int32), 2)
    assert str(error).startswith("atomic updates 1 element past the end")


@triton.jit
def tile(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [R, C])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [R, C])
    target.store([0, 0], source.load([0, 0]) * 2)


def test_descriptors_are_checked():
    x = torch.arange(24.0).reshape(3, 8).to(BF16)
    out = torch.zeros_like(x)
    run(tile, (1,), x, out, 3, 8, R=4, C=8)
    assert_same(out, x * 2)
    error = caught_by(tile, (1,), x, out, 4, 8, R=4, C=8)
    assert str(error).startswith("load reads 8 elements past the end of x")


def test_what_one_launch_leaves_in_scratch_another_finds():
    x, scratch, out = torch.ones(4), torch.empty(8)[4:], torch.zeros(4)
    run(copy, (1,), x, scratch, 4, BLOCK=4)
    assert scratch.tolist() == [1.0] * 4
    scratch[0] = 3  # by the host
    run(copy, (1,), scratch, out, 4, BLOCK=4)
    assert out.tolist() == [3.0, 1.0, 1.0, 1.0]


# --- programs that race ---------------------------------------------------------------------------


@triton.jit
def each_its_number(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.zeros([BLOCK], tl.float32) + tl.program_id(0))  # all write there


@triton.jit
def neighbours(x):
    """In place, each from its neighbour: the next program's element, as it was or as it will be."""
    at = tl.program_id(0)
    v = tl.load(x + at + 1)  # the neighbour's
    tl.store(x + at, v)  # its own


@triton.jit
def previous(x, out):
    at = tl.program_id(0)
    tl.store(x + at + 1, 1.0)  # for the next program
    tl.store(out + at, tl.load(x + at))


@triton.jit
def lanes_collide(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at // 2, at.to(tl.float32))


@triton.jit
def first_clears(out):
    if tl.program_id(0) == 0:
        tl.store(out, 0.0)
    tl.atomic_add(out, 1.0)


@triton.jit
def one_reads_the_sum(total, out):
    tl.atomic_add(total, 1.0)
    if tl.program_id(0) == 0:
        tl.store(out, tl.load(total))


@triton.jit
def halves_of_one(out, wide):
    """The second program writes half of what the first one wrote as a whole."""
    if tl.program_id(0) == 0:
        tl.store(wide, 1)
    else:
        tl.store(out + 1, 7)


def racing() -> dict[str, tuple[object, ...]]:
    """A kernel, its grid, its arguments and options: new ones for each test."""
    pair = torch.zeros(2, dtype=torch.int32)
    return {
        "another value": (each_its_number, (2,), [torch.zeros(4)], {"BLOCK": 4}),
        "read, then written": (neighbours, (3,), [torch.zeros(4)], {}),
        "written, then read": (previous, (3,), [torch.zeros(4), torch.zeros(4)], {}),
        "lanes of one store": (lanes_collide, (1,), [torch.zeros(4)], {"BLOCK": 8}),
        "cleared and added to": (first_clears, (2,), [torch.zeros(1)], {}),
        "added to and read": (one_reads_the_sum, (2,), [torch.zeros(1), torch.zeros(1)], {}),
        "parts": (halves_of_one, (2,), [pair, pair.view(torch.int64)], {}),
    }


MESSAGES = {
    "another value": (
        "program 1 writes another value to element 0 of out, which program 0 "
        "wrote in line NN (tl.store(out + at, tl.zeros([BLOCK], tl.float32) + tl.program_id(0))  "
        "# all write there): programs run in any order, so it is left to chance which comes first"
    ),
    "read, then written": (
        "program 1 writes element 1 of x, which program 0 read in line NN "
        "(v = tl.load(x + at + 1)  # the neighbour's): programs run in any order, so it is left to "
        "chance which comes first"
    ),
    "written, then read": (
        "program 1 reads element 1 of x, which program 0 wrote in line NN "
        "(tl.store(x + at + 1, 1.0)  # for the next program): programs run in any order, so it is "
        "left to chance which comes first"
    ),
    "lanes of one store": (
        "program 0 writes two different values to element 0 of out at once: it is "
        "left to chance which of them stays"
    ),
    "cleared and added to": (
        "program 1 updates element 0 of out, which program 0 wrote in line "
        "NN (tl.store(out, 0.0)): programs run in any order, so it is left to chance which comes "
        "first"
    ),
    "added to and read": (
        "program 0 reads element 0 of total, which program 1 updated in line "
        "NN (tl.atomic_add(total, 1.0)): programs run in any order, so it is left to chance "
        "which comes first"
    ),
    "parts": (
        "program 1 writes another value to element 1 of out, which program 0 "
        "wrote in line NN (tl.store(wide, 1)): programs run in any order, so it is left to chance "
        "which comes first"
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_programs_that_race_are_told_with_both_lines(name):
    kernel, grid, arguments, options = racing()[name]
    error = caught_by(kernel, grid, *arguments, **options)
    assert error.kind == "race"
    assert re.sub(r"line \d+", "line NN", str(error)) == MESSAGES[name]
    kernel, grid, arguments, options = racing()[name]
    assert str(caught_by(kernel, grid, *arguments, **options)) == str(error), "found every time"


def test_the_line_of_the_first_access_is_in_the_message_and_that_of_the_second_in_the_traceback():
    error = caught_by(neighbours, (2,), torch.zeros(3))
    (number,) = re.findall(r"line (\d+)", str(error))
    assert Path(__file__).read_text().splitlines()[int(number) - 1].endswith("# the neighbour's")
    assert "tl.store(x + at, v)  # its own" in lines_of(error)


def test_the_store_that_is_refused_writes_nothing():
    out = torch.zeros(4)
    caught_by(each_its_number, (3,), out, BLOCK=4)
    assert out.tolist() == [0.0] * 4


@triton.jit
def last_block_moved_back(x, out, n, BLOCK: tl.constexpr):
    """Instead of a mask: the last program does some elements again."""
    start = tl.minimum(tl.program_id(0) * BLOCK, n - BLOCK)
    at = start + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def rows_in_place(x, columns, stride, BLOCK: tl.constexpr):
    """Reads its row twice, and writes it, in blocks."""
    row = x + tl.program_id(0) * stride
    total = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(row + at, mask=at < columns, other=0.0))
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(row + at, mask=at < columns)
        tl.store(row + at, v - total, mask=at < columns)


@triton.jit
def last_one_adds_up(x, partials, counter, out, BLOCK: tl.constexpr):
    """Each leaves a sum; who sees that all others have counted themselves adds them up."""
    program = tl.program_id(0)
    tl.store(partials + program, tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(counter, 1) == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(partials + tl.arange(0, 4))))


@triton.jit
def last_one_adds_up_relaxed(x, partials, counter, out, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    tl.store(partials + program, tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(counter, 1, sem="relaxed") == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(partials + tl.arange(0, 4))))


@triton.jit
def under_a_lock(lock, out):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + 1)
    tl.atomic_xchg(lock, 0)


@triton.jit
def after_the_one_before(flags, out):
    """Each waits for the flag of the one before it, and takes over what that one left."""
    program = tl.program_id(0)
    before = 0.0
    if program > 0:
        while tl.load(flags + program - 1, volatile=True) == 0:
            pass
        before = tl.load(out + program - 1)
    tl.store(out + program, before + 1)
    tl.atomic_xchg(flags + program, 1)


@triton.jit
def adds_to_all(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out + at // 2, tl.load(x + tl.program_id(0) * BLOCK + at))


@triton.jit
def same_flag(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK) * 0, 1.0)


def test_honest_programs_do_not_race():
    x, out = torch.arange(10.0), torch.zeros(10)
    run(last_block_moved_back, (3,), x, out, 10, BLOCK=4)
    assert out.tolist() == (2 * x).tolist()

    table = torch.ones(3, 8)[:, :6]
    run(rows_in_place, (3,), table, 6, table.stride(0), BLOCK=4)
    assert (table == -5).all()

    total = torch.zeros(2)
    run(adds_to_all, (4,), torch.ones(16), total, BLOCK=4)
    assert total.tolist() == [8.0, 8.0]
    run(same_flag, (3,), out, BLOCK=8)
    assert out[0] == 1


def test_atomics_order_programs():
    x, partials, out = torch.ones(16), torch.empty(4), torch.zeros(1)
    counter, lock = (torch.zeros(1, dtype=torch.int32) for _ in range(2))
    run(last_one_adds_up, (4,), x, partials, counter, out, BLOCK=4)
    assert out.tolist() == [16.0]
    run(under_a_lock, (5,), lock, count := torch.zeros(1))
    assert count.tolist() == [5.0]
    flags, steps = torch.zeros(4, dtype=torch.int32), torch.zeros(4)
    run(after_the_one_before, (4,), flags, steps)
    assert steps.tolist() == [1.0, 2.0, 3.0, 4.0]
    counter.zero_()
    error = caught_by(last_one_adds_up_relaxed, (4,), x, partials, counter, out, BLOCK=4)
    assert str(error).startswith("program 3 reads element 0 of partials, which program ")


@triton.jit
def last_number_adds_up(x, partials, counter, out):
    """Right only where programs end in the order of their numbers."""
    program = tl.program_id(0)
    tl.store(partials + program, tl.load(x + program))
    tl.atomic_add(counter, 1)
    if program == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(partials + tl.arange(0, 4))))


SHAPES = [(n,) for n in range(1, 9)]


def test_programs_run_in_two_orders(gpu: Gpu):
    """Forwards or backwards, as the shapes of the arguments decide: one of the two shows it."""
    assert len({runs_backwards([shape]) for shape in SHAPES}) == 2
    for shape in SHAPES:
        given = gpu.placed(x=torch.ones(shape))
        arrays = torch.ones(4), torch.empty(4), torch.zeros(1, dtype=torch.int32), torch.zeros(1)
        launch = partial(last_number_adds_up[(4,)], *arrays)
        if not runs_backwards([shape]):
            gpu.call(launch, given)
            continue
        with pytest.raises(Refused, match="program 3 reads element 0 of partials, which program 0"):
            gpu.call(launch, given)


@triton.jit
def last_one_counts_anew(counter):
    if tl.atomic_add(counter, 1) == tl.num_programs(0) - 1:
        tl.store(counter, 0)  # after all updates: its own was the last


@triton.jit
def each_counts_anew(counter):
    tl.atomic_add(counter, 1)
    tl.store(counter, 0)


def test_who_has_the_last_count_may_set_it_back():
    counter = torch.zeros(1, dtype=torch.int32)
    run(last_one_counts_anew, (3,), counter)
    assert counter.item() == 0
    assert caught_by(each_counts_anew, (3,), counter).kind == "race"


def test_a_second_launch_comes_after_the_first():
    out = torch.zeros(4)
    for _ in range(2):
        run(each_its_number, (1,), out, BLOCK=4)
    run(neighbours, (1,), out)
    run(previous, (1,), out, torch.zeros(1))


# --- what else learners write ---------------------------------------------------------------------

WIDTH = tl.constexpr(4)


@triton.jit
def doubled(v):
    return v + v


@triton.jit
def far(x):
    return tl.load(x + 9)  # here


@triton.jit
def with_far_helper(out):
    tl.store(out, far(out))  # calls it


@triton.jit
def with_helpers(x, out, n):
    for start in range(0, n, WIDTH):
        at = start + tl.arange(0, WIDTH)
        v = doubled(tl.load(x + at, mask=at < n))
        tl.store(out + at, v, mask=at < n)


def test_helpers_constexpr_globals_grids_as_functions_and_launch_options():
    x, out = torch.arange(6.0), torch.zeros(6)
    run(with_helpers, lambda meta: (1,), x, out, 6, num_warps=4, num_stages=2)
    assert out.tolist() == (2 * x).tolist()


def test_a_fault_in_a_helper_has_all_lines_that_led_there():
    error = caught_by(with_far_helper, (1,), torch.zeros(4))
    assert lines_of(error) == [
        "tl.store(out, far(out))  # calls it",
        "return tl.load(x + 9)  # here",
    ]


@triton.autotune(
    configs=[triton.Config({"BLOCK": 4}, num_warps=2), triton.Config({"BLOCK": 8})], key=["n"]
)
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + BLOCK, mask=at < n)


def test_an_autotuned_kernel_runs_with_its_first_configuration():
    x, out = torch.arange(6.0), torch.zeros(6)
    run(tuned, lambda meta: (triton.cdiv(6, meta["BLOCK"]),), x, out, 6)
    assert out.tolist() == (x + 4).tolist()


@triton.jit
def add_in_bfloat16(out):
    tl.atomic_add(out, 1.0)


def test_an_atomic_adds_in_bfloat16():
    out = torch.ones(1, dtype=BF16)
    run(add_in_bfloat16, (3,), out)
    assert out.tolist() == [4.0]


@triton.jit
def assembly(out):
    v = tl.inline_asm_elementwise("nop;", "=r,r", [1], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out, v)  # what it makes


def test_what_cannot_be_simulated_is_said_with_its_line():
    error = caught_by(assembly, (1,), torch.zeros(1, dtype=torch.int32))
    assert error.kind == "not_simulated"
    assert re.search(r"assembly 'nop' \(line \d+\)", str(error))


@triton.jit
def prints(x):
    tl.device_print("x", tl.load(x))


def test_bfloat16_is_printed_as_a_number(capsys):
    run(prints, (1,), torch.tensor([1.5], dtype=BF16))
    assert "1.5" in capsys.readouterr().out


# --- calls ----------------------------------------------------------------------------------------


def test_a_call_is_counted_in_elements_of_its_arguments(gpu: Gpu):
    given = gpu.placed(x=torch.arange(10.0), out=torch.zeros(10))
    gpu.call(lambda: copy[(3,)](*given.values(), 10, BLOCK=4), given)
    kinds = ("reads", "writes", "counts")
    counts = {k: n for k, n in gpu.report.counts.items() if k.startswith(kinds)}
    assert counts == {
        "reads.x": 10,
        "writes.x": 0,
        "reads.out": 0,
        "writes.out": 10,
        "counts.programs": 3,
        "counts.loads": 1,
        "counts.stores": 1,
        "counts.bytes": 32,
        "counts.transactions": 6,
    }
    assert gpu.report.launches == 1


def test_a_withheld_launch_is_checked_and_has_no_effect(gpu: Gpu):
    given = gpu.placed(x=torch.arange(4.0), out=torch.zeros(4))
    gpu.call(lambda: copy[(1,)](*given.values(), 4, BLOCK=4), given, withhold=True)
    assert given["out"].tolist() == [0.0] * 4
    assert gpu.report.launches == 1


def test_a_file_that_catches_the_error_of_a_launch_has_failed_all_the_same(gpu: Gpu):
    given = gpu.placed(x=torch.arange(4.0), out=torch.zeros(4))

    def catches() -> None:
        with suppress(DeviceError):
            copy[(1,)](given["x"], given["out"], 5, BLOCK=8)
        with pytest.raises(DeviceError):  # a GPU that met a fault carries out no further launch
            copy[(1,)](given["x"], given["out"], 4, BLOCK=4)

    with pytest.raises(Refused) as caught:
        gpu.call(catches, given)
    assert caught.value.kind == "out_of_bounds"
    assert given["out"].tolist() == [0.0] * 4


def test_a_fault_is_forgotten_with_its_call(gpu: Gpu):
    x = torch.zeros(4)
    caught_by(with_far_helper, (1,), x)
    run(copy, (1,), x, x, 4, BLOCK=4)


def test_outside_of_a_call_no_argument_may_be_touched(gpu: Gpu):
    given = gpu.placed(x=torch.arange(4.0), out=torch.zeros(4))
    with pytest.raises(DeviceError, match="load reads") as caught:
        copy[(1,)](*given.values(), 4, BLOCK=4)
    assert caught.value.kind == "out_of_bounds"
    x, out = torch.ones(4), torch.zeros(4)
    copy[(1,)](x, out, 4, BLOCK=4)  # the file's own memory
    assert torch.equal(x, out)


def test_what_a_benchmark_tries_has_no_effect(gpu: Gpu):
    given = gpu.placed(x=torch.arange(4.0), out=torch.zeros(4))
    gpu.call(
        lambda: triton.testing.do_bench(lambda: copy[(1,)](*given.values(), 4, BLOCK=4)), given
    )
    assert given["out"].tolist() == [0.0] * 4
    assert gpu.report.launches == 0
    assert gpu.report.counts["reads.x"] == 0


def test_the_memory_that_a_launch_was_given_is_reported(gpu: Gpu):
    given = gpu.placed(x=torch.arange(4.0))
    gpu.call(lambda: copy[(1,)](given["x"], torch.zeros(1000), 4, BLOCK=4), given)
    assert gpu.report.held == 4000
