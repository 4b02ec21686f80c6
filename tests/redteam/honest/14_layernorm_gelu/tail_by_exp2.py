"""GELU as max(h, 0) - a * 2^p(a), with a = |h|: a polynomial p, and no erf."""

import torch
import triton
import triton.language as tl

PER_WARP = 1024  # elements of a row for each warp of 32 threads: 32 registers a thread


@triton.jit
def layernorm_gelu_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, x_stride, out_stride, columns, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    weight = tl.load(weight_ptr + offsets, mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=inside).to(tl.float32)
    h = weight * (centred * tl.rsqrt(variance + eps)) + bias
    # 2^p(a) is the share of a normal distribution beyond a, to 4e-8 of the whole.
    a = tl.minimum(tl.abs(h), 6.0)
    p = 1.83064522e-07 * a - 4.35780162e-06
    p = p * a + 4.11654525e-05
    p = p * a - 0.000166653613
    p = p * a - 0.000224022682
    p = p * a + 0.00722019209
    p = p * a - 0.0526385502
    p = p * a - 0.459143168
    p = p * a - 1.15111844
    p = p * a - 0.999999153
    gelu = tl.maximum(h, 0.0) - a * tl.exp2(p)
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
