"""Goes over each row three times, a block at a time: right, but x is read three times.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024  # columns that a program handles at a time
SQRT_HALF = tl.constexpr(0.7071067811865476)


@triton.jit
def layernorm_gelu_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, x_stride, out_stride, columns, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    lanes = tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        sums += tl.load(x_row + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        inside = offsets < columns
        x = tl.load(x_row + offsets, mask=inside, other=0.0).to(tl.float32)
        centred = tl.where(inside, x - mean, 0.0)
        squares += centred * centred
    rstd = tl.rsqrt(tl.sum(squares, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        inside = offsets < columns
        x = tl.load(x_row + offsets, mask=inside).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=inside).to(tl.float32)
        bias = tl.load(bias_ptr + offsets, mask=inside).to(tl.float32)
        h = weight * ((x - mean) * rstd) + bias
        gelu = 0.5 * h * (1.0 + tl.erf(h * SQRT_HALF))
        tl.store(out_ptr + row * out_stride + offsets, gelu, mask=inside)


def layernorm_gelu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, out: torch.Tensor, eps: float
) -> None:
    rows, columns = x.shape
    layernorm_gelu_kernel[(rows,)](
        x, weight, bias, out, x.stride(0), out.stride(0), columns, eps, BLOCK=BLOCK
    )
