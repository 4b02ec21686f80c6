"""Each lane loads an element of its own, where all eight need the same one.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def table_kernel(x_ptr, out_ptr):
    p = tl.program_id(0)
    lanes = tl.arange(0, 8)
    x = tl.load(x_ptr + p + lanes)
    tl.store(out_ptr + p * 8 + lanes, x * lanes)


def table(x: torch.Tensor, out: torch.Tensor) -> None:
    table_kernel[(x.numel(),)](x, out)  # a grid of x.numel() programs
