"""A reduction of (mean, squares, count) by Chan's formula, which is Welford's for blocks."""

import torch
import triton
import triton.language as tl

PER_WARP = 1024  # elements of a row for each warp of 32 threads: 32 registers a thread

SQRT_HALF = tl.constexpr(0.7071067811865476)


@triton.jit
def combined(mean_a, squares_a, count_a, mean_b, squares_b, count_b):
    count = count_a + count_b
    share = tl.where(count > 0.0, count_b / tl.maximum(count, 1.0), 0.0)
    apart = mean_b - mean_a
    mean = mean_a + apart * share
    squares = squares_a + squares_b + apart * apart * count_a * share
    return mean, squares, count


@triton.jit
def layernorm_gelu_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, x_stride, out_stride, columns, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0).to(tl.float32)
    ones = tl.where(inside, 1.0, 0.0)
    mean, squares, _ = tl.reduce((x, tl.zeros_like(x), ones), 0, combined)
    centred = x - mean
    variance = squares / columns
    weight = tl.load(weight_ptr + offsets, mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=inside).to(tl.float32)
    h = weight * (centred * tl.rsqrt(variance + eps)) + bias
    gelu = 0.5 * h * (1.0 + tl.erf(h * SQRT_HALF))
    tl.store(out_ptr + row * out_stride + offsets, gelu, mask=inside)


def layernorm_gelu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, out: torch.Tensor, eps: float
) -> None:
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    layernorm_gelu_kernel[(rows,)](
        x,
        weight,
        bias,
        out,
        x.stride(0),
        out.stride(0),
        columns,
        eps,
        BLOCK=block,
        num_warps=max(block // PER_WARP, 1),
    )
