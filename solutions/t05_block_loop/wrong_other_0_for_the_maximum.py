"""Lanes outside hold 0, also for the maximum.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_and_max_kernel(x_ptr, total_ptr, highest_ptr, columns):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, 128)
    sums = tl.zeros((128,), tl.float32)
    maxima = tl.full((128,), float("-inf"), tl.float32)
    for start in range(0, columns, 128):
        offsets = start + lanes
        x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=0.0)
        maxima = tl.maximum(maxima, x)
        sums += tl.where(offsets < columns, x, 0.0)
    tl.store(total_ptr + row, tl.sum(sums, axis=0))
    tl.store(highest_ptr + row, tl.max(maxima, axis=0))


def sum_and_max(x: torch.Tensor, total: torch.Tensor, highest: torch.Tensor) -> None:
    rows, columns = x.shape
    sum_and_max_kernel[(rows,)](x, total, highest, columns)
