"""The load of bias has no mask: it reads past the end of bias.

Rejected at: correctness
On a GPU: may pass by luck, for the memory behind bias can be read, and no lane stores it.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_bias_kernel(x_ptr, bias_ptr, out_ptr, rows, columns):
    row = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)
    column = tl.program_id(1) * 32 + tl.arange(0, 32)
    offsets = row[:, None] * columns + column[None, :]
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(x_ptr + offsets, mask=inside)
    bias = tl.load(bias_ptr + column)
    tl.store(out_ptr + offsets, x + bias[None, :], mask=inside)


def grid_for(rows, columns):
    return triton.cdiv(rows, 16), triton.cdiv(columns, 32)


def add_bias(x: torch.Tensor, bias: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    add_bias_kernel[grid_for(rows, columns)](x, bias, out, rows, columns)
