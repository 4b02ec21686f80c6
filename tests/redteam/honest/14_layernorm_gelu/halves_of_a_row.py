"""Two loads of half a row each, whose sums are added: blocks shorter than the row."""

import torch
import triton
import triton.language as tl

PER_WARP = 1024  # elements of a row for each warp of 32 threads: 32 registers a thread

SQRT_HALF = tl.constexpr(0.7071067811865476)


@triton.jit
def layernorm_gelu_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, x_stride, out_stride, columns, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    first = tl.arange(0, BLOCK)
    second = first + BLOCK
    a = tl.load(x_row + first, mask=first < columns, other=0.0).to(tl.float32)
    b = tl.load(x_row + second, mask=second < columns, other=0.0).to(tl.float32)
    mean = (tl.sum(a, axis=0) + tl.sum(b, axis=0)) / columns
    a = tl.where(first < columns, a - mean, 0.0)
    b = tl.where(second < columns, b - mean, 0.0)
    rstd = tl.rsqrt((tl.sum(a * a, axis=0) + tl.sum(b * b, axis=0)) / columns + eps)
    for half in tl.static_range(2):
        offsets = first if half == 0 else second
        inside = offsets < columns
        weight = tl.load(weight_ptr + offsets, mask=inside).to(tl.float32)
        bias = tl.load(bias_ptr + offsets, mask=inside).to(tl.float32)
        h = weight * ((a if half == 0 else b) * rstd) + bias
        gelu = 0.5 * h * (1.0 + tl.erf(h * SQRT_HALF))
        tl.store(out_ptr + row * out_stride + offsets, gelu, mask=inside)


def layernorm_gelu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, out: torch.Tensor, eps: float
) -> None:
    rows, columns = x.shape
    block = max(triton.next_power_of_2(columns) // 2, 1)
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
