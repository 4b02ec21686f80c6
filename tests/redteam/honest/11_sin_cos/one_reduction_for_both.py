"""One reduction by π/2 in three parts, and two polynomials: half of the instructions."""

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
    turns = tl.floor(x * 0.6366197723675814 + 0.5)
    angle = tl.fma(turns, -HIGH, x)
    angle = tl.fma(turns, -MIDDLE, angle)
    angle = tl.fma(turns, -LOW, angle)
    quarter = turns.to(tl.int32)
    square = angle * angle
    s = angle + angle * square * (
        -1.6666654611e-1 + square * (8.3321608736e-3 + square * -1.9515295891e-4)
    )
    c = (1.0 - 0.5 * square) + square * square * (
        4.166664568298827e-2 + square * (-1.388731625493765e-3 + square * 2.443315711809948e-5)
    )
    swapped = quarter & 1 == 1
    sin = tl.where(swapped, c, s)
    cos = tl.where(swapped, s, c)
    sin = tl.where(quarter & 2 == 2, -sin, sin)
    cos = tl.where((quarter + 1) & 2 == 2, -cos, cos)
    tl.store(sin_ptr + offsets, sin, mask=inside)
    tl.store(cos_ptr + offsets, cos, mask=inside)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    sin_cos_kernel[(triton.cdiv(n, BLOCK),)](x, sin_out, cos_out, n, BLOCK=BLOCK)
