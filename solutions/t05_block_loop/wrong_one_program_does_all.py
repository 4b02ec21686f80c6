"""One program takes the rows one after another: right, and all others idle.

Rejected at: counts
"""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_and_max_kernel(x_ptr, total_ptr, highest_ptr, rows, columns):
    lanes = tl.arange(0, 128)
    for row in range(rows):
        sums = tl.zeros((128,), tl.float32)
        maxima = tl.full((128,), float("-inf"), tl.float32)
        for start in range(0, columns, 128):
            at = start + lanes
            inside = at < columns
            x = tl.load(x_ptr + row * columns + at, mask=inside, other=float("-inf"))
            maxima = tl.maximum(maxima, x)
            sums += tl.where(inside, x, 0.0)
        tl.store(total_ptr + row, tl.sum(sums, axis=0))
        tl.store(highest_ptr + row, tl.max(maxima, axis=0))


def sum_and_max(x: torch.Tensor, total: torch.Tensor, highest: torch.Tensor) -> None:
    rows, columns = x.shape
    sum_and_max_kernel[(1,)](x, total, highest, rows, columns)
