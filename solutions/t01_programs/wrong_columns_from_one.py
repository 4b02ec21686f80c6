"""The lanes count from 1, so that each row begins one column late.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def table_kernel(x_ptr, out_ptr):
    p = tl.program_id(0)
    lanes = tl.arange(1, 9)
    x = tl.load(x_ptr + p)
    tl.store(out_ptr + p * 8 + lanes, x * lanes)


def table(x: torch.Tensor, out: torch.Tensor) -> None:
    table_kernel[(x.numel(),)](x, out)  # a grid of x.numel() programs
