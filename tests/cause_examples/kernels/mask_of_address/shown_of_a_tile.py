"""Compares the offsets of a tile, which count through the table, with the length of a row."""
# table 3x5 never_read

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, columns):
    row = tl.program_id(0) * 2 + tl.arange(0, 2)
    column = tl.program_id(1) * 4 + tl.arange(0, 4)
    offsets = row[:, None] * columns + column[None, :]
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(x_ptr + offsets, mask=offsets < columns, other=0.0)  # here
    tl.store(out_ptr + offsets, x, mask=inside)


def run(x, out):
    rows, columns = x.shape
    grid = triton.cdiv(rows, 2), triton.cdiv(columns, 4)
    kernel[grid](x, out, rows, columns)
