"""Stores the mask to out, and reads it again in a second launch.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def draw_kernel(p, seed, mask_ptr, n, BLOCK: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    counters = block * (BLOCK // 4) + tl.arange(0, BLOCK // 4)
    n0, n1, n2, n3 = tl.rand4x(seed, counters)
    numbers = tl.interleave(tl.interleave(n0, n2), tl.interleave(n1, n3))
    tl.store(mask_ptr + offsets, numbers >= p, mask=offsets < n)


@triton.jit
def apply_kernel(x_ptr, residual_ptr, mask_ptr, p, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    kept = tl.load(mask_ptr + offsets, mask=inside) != 0
    scaled = x * (1.0 / (1.0 - p))
    tl.store(out_ptr + offsets, residual + tl.where(kept, scaled, 0.0), mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    grid = (triton.cdiv(n, BLOCK),)
    draw_kernel[grid](p, seed, out, n, BLOCK=BLOCK)
    apply_kernel[grid](x, residual, out, p, out, n, BLOCK=BLOCK)
