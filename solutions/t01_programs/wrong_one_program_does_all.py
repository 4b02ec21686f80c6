"""One program makes all rows, one after another: right, and as slow as no GPU.

Rejected at: counts
"""

import torch
import triton
import triton.language as tl


@triton.jit
def table_kernel(x_ptr, out_ptr, n):
    lanes = tl.arange(0, 8)
    for p in range(n):
        x = tl.load(x_ptr + p)
        tl.store(out_ptr + p * 8 + lanes, x * lanes)


def table(x: torch.Tensor, out: torch.Tensor) -> None:
    table_kernel[(1,)](x, out, x.numel())
