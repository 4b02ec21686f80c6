"""Wrong: bias is loaded with the mask of the whole tile, which has two axes."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_bias_kernel(x_ptr, bias_ptr, out_ptr, rows, columns):
    """Runs once in every program. Program (i, j) has the tile i-th from above, j-th from the left.

    `row` and `column` are the places of the tile's 16 rows and 32 columns in the table.
    """
    row = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)
    column = tl.program_id(1) * 32 + tl.arange(0, 32)
    offsets = row[:, None] * columns + column[None, :]
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(x_ptr + offsets, mask=inside)
    bias = tl.load(bias_ptr + column, mask=inside)
    tl.store(out_ptr + offsets, x + bias[None, :], mask=inside)


def grid_for(rows, columns):
    """Returns the numbers of tiles that cover the table: a pair, downwards and to the right."""
    return triton.cdiv(rows, 16), triton.cdiv(columns, 32)


def add_bias(x: torch.Tensor, bias: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with x + bias: two tables of one shape, and a number for each column."""
    rows, columns = x.shape
    add_bias_kernel[grid_for(rows, columns)](x, bias, out, rows, columns)
