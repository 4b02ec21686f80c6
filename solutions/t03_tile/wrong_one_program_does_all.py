"""One program walks over all tiles: right, and all others idle.

Rejected at: counts
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_bias_kernel(x_ptr, bias_ptr, out_ptr, rows, columns):
    for top in range(0, rows, 16):
        for left in range(0, columns, 32):
            row = top + tl.arange(0, 16)
            column = left + tl.arange(0, 32)
            offsets = row[:, None] * columns + column[None, :]
            inside = (row[:, None] < rows) & (column[None, :] < columns)
            x = tl.load(x_ptr + offsets, mask=inside)
            bias = tl.load(bias_ptr + column, mask=column < columns)
            tl.store(out_ptr + offsets, x + bias[None, :], mask=inside)


def grid_for(rows, columns):
    return 1, 1


def add_bias(x: torch.Tensor, bias: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    add_bias_kernel[grid_for(rows, columns)](x, bias, out, rows, columns)
