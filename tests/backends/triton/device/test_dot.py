"""Products of matrices in compiled kernels, against numpy in float64."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from .launched import Gpu, simulated_gpu


@pytest.fixture
def gpu(tmp_path: Path) -> Iterator[Gpu]:
    with simulated_gpu(tmp_path) as gpu:
        yield gpu


@triton.jit
def multiply(
    a_ptr,
    b_ptr,
    c_ptr,
    out_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    PRECISION: tl.constexpr,
):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    a = tl.load(a_ptr + m * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n)
    c = tl.load(c_ptr + m * N + n)
    out = tl.dot(a, b, c, input_precision=PRECISION, out_dtype=c.dtype)
    tl.store(out_ptr + m * N + n, out)


def product(gpu: Gpu, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, how: str) -> torch.Tensor:
    out = torch.empty_like(c)
    m, k = a.shape
    gpu.launch(multiply, (1,), a, b, c, out, M=m, N=b.shape[1], K=k, PRECISION=how)
    return out


# The relative error of float32 sums, plus that of factors with so many bits.
@pytest.mark.parametrize(
    ("precision", "least", "most"),
    [
        ("ieee", 0, 1e-6),
        ("tf32", 1e-5, 3e-3),
        ("tf32x3", 0, 3e-6),
        ("bf16x3", 1e-7, 3e-4),
        ("bf16x6", 0, 3e-6),
    ],
)
def test_precisions_of_float32(gpu: Gpu, precision: str, least: float, most: float) -> None:
    torch.manual_seed(0)
    a, b, c = torch.randn(16, 64), torch.randn(64, 32), torch.randn(16, 32)
    exact = a.double() @ b.double() + c
    error = float((product(gpu, a, b, c, precision) - exact).norm() / exact.norm())
    assert least <= error <= most


@pytest.mark.parametrize(
    ("dtype", "sums"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float16),
        (torch.float8_e4m3fn, torch.float32),
        (torch.float8_e5m2, torch.float32),
    ],
)
def test_narrow_factors(gpu: Gpu, dtype: torch.dtype, sums: torch.dtype) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(16, 32).to(dtype), torch.randn(32, 16).to(dtype)
    c = torch.randn(16, 16).to(sums)
    expected = (a.double() @ b.double() + c).to(sums)
    torch.testing.assert_close(product(gpu, a, b, c, "ieee"), expected, rtol=2e-3, atol=1e-5)


def test_integers_wrap(gpu: Gpu) -> None:
    a = torch.full((16, 32), -128, dtype=torch.int8)
    c = torch.full((16, 16), 2**31 - 1, dtype=torch.int32)
    out = product(gpu, a, a.T.contiguous(), c, "ieee")
    wrapped = (2**31 - 1 + 32 * 128 * 128) - 2**32
    assert out.unique().tolist() == [wrapped]


@triton.jit
def multiply_each(a_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    places = (tl.arange(0, 4)[:, None, None] * B + i[None, :, None]) * B + i[None, None, :]
    a = tl.load(a_ptr + tl.program_id(0) * 4 * B * B + places)
    tl.store(out_ptr + tl.program_id(0) * 4 * B * B + places, tl.dot(a, a))


def test_a_batch_of_each_program(gpu: Gpu) -> None:
    a = torch.randn(8, 16, 16).half()
    out = torch.empty(8, 16, 16)
    gpu.launch(multiply_each, (2,), a, out, B=16)
    torch.testing.assert_close(out, a.float() @ a.float(), rtol=1e-5, atol=1e-4)


@triton.jit
def multiply_scaled(
    a_ptr, scale_ptr, b_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, PACK: tl.constexpr
):
    m, k = tl.arange(0, 32), tl.arange(0, 64)
    ka = tl.arange(0, 64 // PACK)
    a = tl.load(a_ptr + m[:, None] * (64 // PACK) + ka[None, :])
    b = tl.load(b_ptr + k[:, None] * 32 + m[None, :])
    scales = tl.load(scale_ptr + m[:, None] * 2 + tl.arange(0, 2)[None, :])
    out = tl.dot_scaled(a, scales, A, b, None, B)
    tl.store(out_ptr + m[:, None] * 32 + m[None, :], out)


def scaled(gpu: Gpu, a: torch.Tensor, scales: torch.Tensor, b: torch.Tensor, kind: str, pack: int):
    out = torch.empty(32, 32)
    gpu.launch(multiply_scaled, (1,), a, scales, b, out, A=kind, B="bf16", PACK=pack)
    return out


def test_scaled_float8(gpu: Gpu) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(32, 64).to(torch.float8_e4m3fn), torch.randn(64, 32).bfloat16()
    scales = torch.randint(120, 134, (32, 2), dtype=torch.uint8)
    factors = torch.exp2(scales.double() - 127).repeat_interleave(32, 1)
    expected = (a.double() * factors) @ b.double()
    torch.testing.assert_close(
        scaled(gpu, a, scales, b, "e4m3", 1), expected.float(), rtol=1e-4, atol=1e-3
    )


def test_scaled_float4_in_pairs(gpu: Gpu) -> None:
    torch.manual_seed(0)
    codes = torch.randint(0, 16, (32, 64), dtype=torch.uint8)
    numbers = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    a = numbers[(codes & 7).long()] * torch.where(codes >= 8, -1.0, 1.0)
    packed = codes[:, ::2] | codes[:, 1::2] << 4
    b = torch.randn(64, 32).bfloat16()
    scales = torch.full((32, 2), 128, dtype=torch.uint8)
    found = scaled(gpu, packed, scales, b, "e2m1", 2)
    torch.testing.assert_close(found, 2 * a @ b.float(), rtol=1e-4, atol=1e-3)


def test_a_scale_of_255_is_nan(gpu: Gpu) -> None:
    scales = torch.full((32, 2), 255, dtype=torch.uint8)
    a = torch.ones(32, 64).to(torch.float8_e5m2)
    assert scaled(gpu, a, scales, torch.ones(64, 32).bfloat16(), "e5m2", 1).isnan().all()
