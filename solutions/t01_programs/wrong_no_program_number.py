"""Without a program number every program makes the first row.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def table_kernel(x_ptr, out_ptr):
    lanes = tl.arange(0, 8)
    x = tl.load(x_ptr)
    tl.store(out_ptr + lanes, x * lanes)


def table(x: torch.Tensor, out: torch.Tensor) -> None:
    table_kernel[(x.numel(),)](x, out)  # a grid of x.numel() programs
