"""tl.sum is taken of the total: one number for all."""

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
    for i in tl.range(degree, -1, -1, loop_unroll_factor=8):
        total = total * x + tl.load(c_ptr + i)
    total = tl.sum(total) + 0.0 * x
    tl.store(out_ptr + offsets, total, mask=inside)


def polynomial(x: torch.Tensor, c: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()
    grid = (triton.cdiv(n, BLOCK),)
    polynomial_kernel[grid](x, c, out, n, c.numel() - 1, BLOCK=BLOCK)
