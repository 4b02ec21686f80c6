"""Each lane is a row of a tile: what it adds up is a sum along the tile's other axis."""
# columns 20x5 not_reduced

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, rows, ROWS):
        part = start + tl.arange(0, ROWS)
        inside = (lanes < columns)[:, None] & (part < rows)[None, :]
        x = tl.load(x_ptr + part[None, :] * columns + lanes[:, None], mask=inside, other=0.0)
        of_part = tl.sum(x, axis=1)
        total = total * 1.0 + of_part
    tl.store(out_ptr + lanes, total + 1.0, mask=lanes < columns)


def run(x, out):
    kernel[(1,)](x, out, x.shape[0], x.shape[1], ROWS=4, BLOCK=8)
