"""The factor is an exponential of a number that nothing was read for."""
# softmax 2x20 overflow

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    lanes = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row + start + lanes, mask=inside, other=float("-inf"))
        highest = tl.maximum(highest, x)
    m = tl.max(highest, axis=0)
    s = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row + start + lanes, mask=inside, other=float("-inf"))
        s += tl.exp(x - m)
    total = tl.sum(s, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row + start + lanes, mask=inside, other=float("-inf"))
        tl.store(
            out_ptr + row + start + lanes,
            tl.exp(x - m) * tl.exp(columns * 0.1) / total,
            mask=inside,
        )


def run(x, out):
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=8)
