"""Adds random numbers of the host."""
# copy 13

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x, mask=i < n)


def run(x, out):
    noise = torch.rand(x.numel(), device=x.device)  # here
    kernel[(2,)](x + noise, out, x.numel(), BLOCK=8)
