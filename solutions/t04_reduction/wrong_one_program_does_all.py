"""One program takes the rows one after another: right, and all others idle.

Rejected at: counts
"""

import torch
import triton
import triton.language as tl


@triton.jit
def range_kernel(x_ptr, out_ptr, rows, columns):
    lanes = tl.arange(0, 64)
    inside = lanes < columns
    for row in range(rows):
        x = tl.load(x_ptr + row * columns + lanes, mask=inside, other=float("-inf"))
        highest = tl.max(x, axis=0)
        lowest = tl.min(tl.where(inside, x, float("inf")), axis=0)
        tl.store(out_ptr + row, highest - lowest)


def row_range(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    range_kernel[(1,)](x, out, rows, columns)
