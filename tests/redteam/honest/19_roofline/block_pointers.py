"""Pointers to whole blocks, which hold their own bounds."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def polynomial_kernel(x_ptr, c_ptr, out_ptr, n, degree, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    x_block = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
    out_block = tl.make_block_ptr(out_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
    x = tl.load(x_block, boundary_check=(0,), padding_option="zero")
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(degree, -1, -1):
        total = total * x + tl.load(c_ptr + i)
    tl.store(out_block, total, boundary_check=(0,))


def polynomial(x: torch.Tensor, c: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()
    grid = (triton.cdiv(n, BLOCK),)
    polynomial_kernel[grid](x, c, out, n, c.numel() - 1, BLOCK=BLOCK)
