"""Reductions and scans in compiled kernels, with the combinations of the language and others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from .launched import Gpu, simulated_gpu


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with simulated_gpu(Path(tmp_path_factory.mktemp("cache"))) as gpu:
        yield gpu


@triton.jit
def block_of(x, M: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * M * N + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    return tl.load(x + at), at


@triton.jit
def reduce_rows(x, out, M: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr):
    block, _ = block_of(x, M, N)
    if KIND == "sum":
        row = tl.sum(block, axis=1)
    elif KIND == "max":
        row = tl.max(block, axis=1)
    elif KIND == "min":
        row = tl.min(block, axis=1)
    elif KIND == "argmax":
        row = tl.argmax(block, axis=1)
    elif KIND == "argmin":
        row = tl.argmin(block, axis=1)
    else:
        row = tl.xor_sum(block, axis=1)
    tl.store(out + tl.program_id(0) * M + tl.arange(0, M), row)


def reduced(gpu: Gpu, x: torch.Tensor, kind: str, dtype: torch.dtype | None = None) -> torch.Tensor:
    programs, rows, columns = x.shape
    out = torch.zeros((programs, rows), dtype=dtype or x.dtype)
    gpu.launch(reduce_rows, (programs,), x, out, M=rows, N=columns, KIND=kind)
    return out


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.float32])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "argmax", "argmin"])
def test_reductions_of_rows(gpu: Gpu, kind: str, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(-100, 100, (3, 4, 64), generator=generator).to(dtype)
    operate = {
        "sum": lambda: x.sum(2),
        "max": lambda: x.amax(2),
        "min": lambda: x.amin(2),
        # The first of several, as Triton's default has it.
        "argmax": lambda: (x == x.amax(2, keepdim=True)).int().argmax(2),
        "argmin": lambda: (x == x.amin(2, keepdim=True)).int().argmax(2),
    }[kind]
    out = {"argmax": torch.int32, "argmin": torch.int32, "sum": torch.int64}.get(kind, dtype)
    if dtype == torch.float32 and kind == "sum":
        out = dtype
    found = reduced(gpu, x, kind, out)
    if kind == "sum" and dtype == torch.int8:  # which Triton adds up in 32 bits
        assert found.tolist() == x.int().sum(2).tolist()
    assert found.tolist() == operate().tolist()


def test_exclusive_or(gpu: Gpu) -> None:
    x = torch.arange(32, dtype=torch.int32).reshape(1, 2, 16) * 7
    expected = [[0, 0]]
    for i in range(2):
        for number in x[0, i].tolist():
            expected[0][i] ^= number
    assert reduced(gpu, x, "xor").tolist() == expected


def test_maximum_ignores_nan_unless_there_is_nothing_else(gpu: Gpu) -> None:
    x = torch.tensor([[[1.0, math.nan, 3.0, -math.inf], [math.nan] * 4]])
    largest, nothing = reduced(gpu, x, "max")[0].tolist()
    assert largest == 3.0
    assert math.isnan(nothing)
    assert reduced(gpu, x, "min")[0, 0].item() == -math.inf


def test_a_sum_of_float32_has_the_error_of_a_tree(gpu: Gpu) -> None:
    x = torch.full((1, 1, 65536), 0.1)
    exact = x.double().sum().item()
    one_by_one = x.flatten().numpy().cumsum(dtype="float32")[-1]
    error = abs(reduced(gpu, x, "sum").item() - exact)
    assert error < abs(one_by_one - exact) / 50


def test_half_precision_rounds_at_each_level(gpu: Gpu) -> None:
    """2048 + 1 is 2048 in float16, so one is lost at the first level: 3070, not nearly 3071."""
    x = torch.ones(1, 1, 1024, dtype=torch.float16)
    x[0, 0, 0] = 2048.0
    assert float(x.sum(dtype=torch.float64).half()) == 3072
    assert reduced(gpu, x, "sum").item() == 3070


@triton.jit
def mean_and_spread(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    """Join two parts of a sample (Chan)."""
    n = n_a + n_b
    delta = mean_b - mean_a
    return n, mean_a + delta * n_b / n, m2_a + m2_b + delta * delta * n_a * n_b / n


@triton.jit
def variance(x, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    values = tl.load(x + at)
    n, mean, m2 = tl.reduce(
        (tl.full([N], 1.0, tl.float32), values, tl.zeros([N], tl.float32)), 0, mean_and_spread
    )
    tl.store(out + 2 * tl.program_id(0), mean)
    tl.store(out + 2 * tl.program_id(0) + 1, m2 / n)


def test_a_reduction_of_several_values(gpu: Gpu) -> None:
    x = torch.randn(5, 128, generator=torch.Generator().manual_seed(0)) + 3
    out = torch.zeros(5, 2)
    gpu.launch(variance, (5,), x, out, N=128)
    expected = torch.stack((x.mean(1), x.var(1, correction=0)), 1)
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-6)


@triton.jit
def nearer_to_ten(a, b):
    result = a
    if tl.abs(b - 10) < tl.abs(a - 10):
        result = b
    return result


@triton.jit
def nearer_with_early_return(a, b):
    if tl.abs(b - 10) < tl.abs(a - 10):
        return b
    return a


@triton.jit
def nearest(x, out, N: tl.constexpr, EARLY: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    if EARLY:
        found = tl.reduce(tl.load(x + at), 0, nearer_with_early_return)
    else:
        found = tl.reduce(tl.load(x + at), 0, nearer_to_ten)
    tl.store(out + tl.program_id(0), found)


@pytest.mark.parametrize("early", [False, True])
def test_a_combination_with_a_branch(gpu: Gpu, early: bool) -> None:
    x = torch.tensor([[0, 3, 40, 12], [-5, 9, 100, 30]], dtype=torch.int32)
    out = torch.zeros(2, dtype=torch.int32)
    gpu.launch(nearest, (2,), x, out, N=4, EARLY=early)
    assert out.tolist() == [12, 9]


@triton.jit
def scan_rows(x, out, M: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr, REVERSE: tl.constexpr):
    block, at = block_of(x, M, N)
    if KIND == "sum":
        result = tl.cumsum(block, axis=1, reverse=REVERSE)
    elif KIND == "product":
        result = tl.cumprod(block, axis=1, reverse=REVERSE)
    else:
        result = tl.associative_scan(block, 1, larger, reverse=REVERSE)
    tl.store(out + at, result)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", ["sum", "product", "max"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_scans(gpu: Gpu, kind: str, reverse: bool, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(2)
    x = torch.randint(-3, 4, (3, 2, 16), generator=generator).to(dtype)
    out = torch.zeros_like(x)
    gpu.launch(scan_rows, (3,), x, out, M=2, N=16, KIND=kind, REVERSE=reverse)
    ordered = x.flip(2) if reverse else x
    expected = {
        "sum": ordered.cumsum(2, dtype=dtype),
        "product": ordered.cumprod(2, dtype=dtype),
        "max": ordered.cummax(2).values,
    }[kind]
    assert torch.equal(out, expected.flip(2) if reverse else expected)


@triton.jit
def decay_and_add(a, x, b, y):
    """Combine two steps of state = a * state + x."""
    return a * b, b * x + y


@triton.jit
def recurrence(a, x, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    _, states = tl.associative_scan((tl.load(a + at), tl.load(x + at)), 0, decay_and_add)
    tl.store(out + at, states)


def test_a_scan_keeps_the_order_of_what_it_combines(gpu: Gpu) -> None:
    """The combination does not commute."""
    a, x = torch.full((2, 32), 0.5), torch.arange(64.0).reshape(2, 32)
    out = torch.zeros_like(x)
    gpu.launch(recurrence, (2,), a, x, out, N=32)
    state = torch.zeros(2)
    for i in range(32):
        state = a[:, i] * state + x[:, i]
        torch.testing.assert_close(out[:, i], state)


@triton.jit
def sum_of_a_splat(out, value):
    tl.store(out, tl.sum(tl.zeros([64], tl.float32) + value))


def test_a_splat_counts_once_for_each_element(gpu: Gpu) -> None:
    out = torch.zeros(1)
    gpu.launch(sum_of_a_splat, (1,), out, 0.5)
    assert out.item() == 32.0


@triton.jit
def sorted_block(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at)))


def test_sorting(gpu: Gpu) -> None:
    x = torch.randint(-1000, 1000, (128,), generator=torch.Generator().manual_seed(0)).int()
    out = torch.zeros_like(x)
    gpu.launch(sorted_block, (1,), x, out, N=128)
    assert torch.equal(out, x.sort().values)


@triton.jit
def clipped(a, b):
    if a + b > 100:
        return 100
    return a + b


@triton.jit
def lane_by_lane(x, y, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.map_elementwise(clipped, tl.load(x + at), tl.load(y + at)))


def test_a_function_of_each_lane(gpu: Gpu) -> None:
    x = torch.arange(64, dtype=torch.int32)
    y = torch.full_like(x, 70)
    out = torch.zeros_like(x)
    gpu.launch(lane_by_lane, (4,), x, y, out, N=16)
    assert torch.equal(out, (x + y).clamp(max=100))


@triton.jit
def swapped_pairs(a, b):
    return b, a


@triton.jit
def swap_neighbours(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    (result,) = tl.map_elementwise(swapped_pairs, tl.load(x + at), pack=2)
    tl.store(out + at, result)


def test_a_function_of_several_lanes(gpu: Gpu) -> None:
    x = torch.arange(8, dtype=torch.int32)
    out = torch.zeros_like(x)
    gpu.launch(swap_neighbours, (1,), x, out, N=8)
    assert out.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
