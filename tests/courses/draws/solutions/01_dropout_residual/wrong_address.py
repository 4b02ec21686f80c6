"""Mixes the address of x into the seed.

Rejected at: randomness
"""

import triton
import triton.language as tl


@triton.jit
def drop_rows(
    x, residual, p, seed, out, columns, x_row, residual_row, out_row, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = c < columns
        value = tl.load(x + row * x_row + c, inside)
        added = tl.load(residual + row * residual_row + c, inside)
        number = tl.rand(seed, row * columns + c)
        kept = tl.where(number < p, 0.0, value / (1 - p))
        tl.store(out + row * out_row + c, added + kept, inside)


def dropout_residual(x, residual, p, seed, out):
    rows, columns = x.shape
    strides = x.stride(0), residual.stride(0), out.stride(0)
    drop_rows[(rows,)](
        x, residual, p, seed ^ (x.data_ptr() & 0xFFFFFF), out, columns, *strides, BLOCK=1024
    )
