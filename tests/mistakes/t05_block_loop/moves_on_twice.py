"""A loop over blocks: the sum and the largest element of each row, however long it is."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_and_max_kernel(x_ptr, total_ptr, highest_ptr, columns):
    """Runs once in every program. Program p has row p, and takes it in blocks of 128 columns."""
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, 128)
    sums = tl.zeros((128,), tl.float32)
    maxima = tl.full((128,), float("-inf"), tl.float32)
    for start in range(0, columns, 128):
        offsets = start + lanes
        inside = offsets < columns
        x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=float("-inf"))
        maxima = tl.maximum(maxima, x)
        sums += tl.where(inside, x, 0.0)
        x_ptr += 128
    tl.store(total_ptr + row, tl.sum(sums, axis=0))
    tl.store(highest_ptr + row, tl.max(maxima, axis=0))


def sum_and_max(x: torch.Tensor, total: torch.Tensor, highest: torch.Tensor) -> None:
    """Fills total[r] and highest[r] with the sum and the largest element of row r."""
    rows, columns = x.shape
    sum_and_max_kernel[(rows,)](x, total, highest, columns)
