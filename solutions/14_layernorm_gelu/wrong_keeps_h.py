"""LayerNorm in one launch and GELU in another: right, but h is a whole tensor in between.

Rejected at: memory
"""

import torch
import triton
import triton.language as tl

SQRT_HALF = tl.constexpr(0.7071067811865476)


@triton.jit
def layernorm_kernel(
    x_ptr, weight_ptr, bias_ptr, h_ptr, x_stride, columns, eps, BLOCK: tl.constexpr
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
    tl.store(h_ptr + row * columns + offsets, h, mask=inside)


@triton.jit
def gelu_kernel(h_ptr, out_ptr, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    h = tl.load(h_ptr + row * columns + offsets, mask=inside)
    gelu = 0.5 * h * (1.0 + tl.erf(h * SQRT_HALF))
    tl.store(out_ptr + row * out_stride + offsets, gelu, mask=inside)


def layernorm_gelu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, out: torch.Tensor, eps: float
) -> None:
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    h = torch.empty((rows, columns), dtype=torch.float32, device=x.device)  # here
    layernorm_kernel[(rows,)](x, weight, bias, h, x.stride(0), columns, eps, BLOCK=block)
    gelu_kernel[(rows,)](h, out, out.stride(0), columns, BLOCK=block)
