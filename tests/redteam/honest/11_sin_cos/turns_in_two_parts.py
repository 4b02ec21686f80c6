"""x / (2π) in two float32 parts, of which whole turns are dropped; then sinpi and cospi."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

BLOCK = 512

# 1 / (2π) as a float32, and what is left of it.
PER_TURN = tl.constexpr(0.15915493667125702)
REST = tl.constexpr(6.4206382432e-9)


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    high = x * PER_TURN
    low = tl.fma(x, PER_TURN, -high) + x * REST
    part = (high - tl.floor(high + 0.5)) + low
    sin, cos = libdevice.sinpi(2.0 * part), libdevice.cospi(2.0 * part)
    tl.store(sin_ptr + offsets, sin, mask=inside)
    tl.store(cos_ptr + offsets, cos, mask=inside)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    grid = (triton.cdiv(n, BLOCK),)
    # `low` is the error of the rounded product `high`. Fused with the difference after it, that
    # product would not be rounded, and `low` would be added twice.
    sin_cos_kernel[grid](x, sin_out, cos_out, n, BLOCK=BLOCK, enable_fp_fusion=False)
