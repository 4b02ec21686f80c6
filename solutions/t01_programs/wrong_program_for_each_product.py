"""A program for each product: eight times as many, with one lane each.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl


@triton.jit
def table_kernel(x_ptr, out_ptr):
    at = tl.program_id(0)
    x = tl.load(x_ptr + at // 8)
    tl.store(out_ptr + at, x * (at % 8))


def table(x: torch.Tensor, out: torch.Tensor) -> None:
    table_kernel[(x.numel() * 8,)](x, out)
