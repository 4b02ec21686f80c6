"""Takes only the lowest bit of the quarter turn: two of four quadrants have the wrong sign.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl

BLOCK = 512
# π/2 in three parts, of which multiples are subtracted one after the other.
HIGH = tl.constexpr(1.5707962512969971)
MIDDLE = tl.constexpr(7.5497894158615964e-8)
LOW = tl.constexpr(5.390302858158119e-15)


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    quarter = tl.floor(x * 0.6366197723675814 + 0.5)
    angle = tl.fma(quarter, -LOW, tl.fma(quarter, -MIDDLE, tl.fma(quarter, -HIGH, x)))
    odd = quarter.to(tl.int32) % 2 != 0
    tl.store(sin_ptr + offsets, tl.where(odd, tl.cos(angle), tl.sin(angle)), mask=inside)
    tl.store(cos_ptr + offsets, tl.where(odd, -tl.sin(angle), tl.cos(angle)), mask=inside)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    sin_cos_kernel[(triton.cdiv(n, BLOCK),)](x, sin_out, cos_out, n, BLOCK=BLOCK)
