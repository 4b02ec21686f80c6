"""A program for each row: its random numbers are those of the row's places."""

import triton
import triton.language as tl


@triton.jit
def drop_rows(
    x, residual, p, seed, out, columns, x_row, residual_row, out_row, BLOCK: tl.constexpr
):
    # BEGIN SOLUTION
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = c < columns
        value = tl.load(x + row * x_row + c, inside)
        added = tl.load(residual + row * residual_row + c, inside)
        number = tl.rand(seed, row * columns + c)
        kept = tl.where(number < p, 0.0, value / (1 - p))
        tl.store(out + row * out_row + c, added + kept, inside)
    # END SOLUTION


def dropout_residual(x, residual, p, seed, out):
    # BEGIN SOLUTION
    rows, columns = x.shape
    strides = x.stride(0), residual.stride(0), out.stride(0)
    drop_rows[(rows,)](x, residual, p, seed, out, columns, *strides, BLOCK=1024)
    # END SOLUTION
