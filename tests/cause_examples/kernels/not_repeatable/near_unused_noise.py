"""Draws random numbers and uses none; the formula is wrong."""
# copy 13

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x * x + 1, mask=i < n)


def run(x, out):
    noise = torch.rand(x.numel(), device=x.device)
    kernel[(2,)](x + 0 * noise, out, x.numel(), BLOCK=8)
