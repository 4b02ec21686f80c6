"""Computes powers as 2 to i * log2 |x|: odd powers of a negative x lose their sign.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def polynomial_kernel(x_ptr, c_ptr, out_ptr, n, degree, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    total = tl.zeros((BLOCK,), tl.float32)
    log = tl.log2(tl.maximum(tl.abs(x), 1e-30))
    for i in range(degree + 1):
        total += tl.load(c_ptr + i) * tl.exp2(i * log)
    tl.store(out_ptr + offsets, total, mask=inside)


def polynomial(x: torch.Tensor, c: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()
    grid = (triton.cdiv(n, BLOCK),)
    polynomial_kernel[grid](x, c, out, n, c.numel() - 1, BLOCK=BLOCK)
