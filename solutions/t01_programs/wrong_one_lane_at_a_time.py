"""Stores the eight products one after another, as a thread would.

Rejected at: counts
"""

import torch
import triton
import triton.language as tl


@triton.jit
def table_kernel(x_ptr, out_ptr):
    p = tl.program_id(0)
    x = tl.load(x_ptr + p)
    for column in range(8):
        tl.store(out_ptr + p * 8 + column, x * column)


def table(x: torch.Tensor, out: torch.Tensor) -> None:
    table_kernel[(x.numel(),)](x, out)  # a grid of x.numel() programs
