"""Lanes outside hold 0: wrong where a whole row lies below 0.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def range_kernel(x_ptr, out_ptr, columns):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, 64)
    inside = lanes < columns
    x = tl.load(x_ptr + row * columns + lanes, mask=inside, other=0.0)
    highest = tl.max(x, axis=0)
    lowest = tl.min(tl.where(inside, x, float("inf")), axis=0)
    tl.store(out_ptr + row, highest - lowest)


def row_range(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    range_kernel[(rows,)](x, out, columns)
