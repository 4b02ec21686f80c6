"""Each lane adds a column, from row to row: no sum of lanes belongs there."""
# columns 20x5 not_reduced

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        sums += tl.load(x_ptr + row * columns + lanes, mask=lanes < columns, other=0.0)
    tl.store(out_ptr + lanes, sums + 1.0, mask=lanes < columns)


def run(x, out):
    kernel[(1,)](x, out, x.shape[0], x.shape[1], BLOCK=8)
