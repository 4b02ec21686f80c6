"""A program for each row: its number says which head and which batch."""

import triton
import triton.language as tl


@triton.jit
def scale_rows(
    x,
    scale,
    out,
    heads,
    rows,
    columns,
    x_batch,
    x_head,
    x_row,
    batch,
    head,
    row,
    per_batch,
    BLOCK: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    b, h, r = program // rows // heads, program // rows % heads, program % rows
    factor = tl.load(scale + b * per_batch + h)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        value = tl.load(x + b * x_batch + h * x_head + r * x_row + c, c < columns, other=0.0)
        tl.store(out + b * batch + h * head + r * row + c, value * factor, c < columns)


def heads(x, scale, out):
    batches, count, rows, columns = x.shape
    strides = (*x.stride()[:3], *out.stride()[:3], scale.stride(0))
    grid = (batches * count * rows,)
    scale_rows[grid](x, scale, out, count, rows, columns, *strides, BLOCK=64)
