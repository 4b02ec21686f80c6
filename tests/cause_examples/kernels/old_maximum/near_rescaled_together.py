"""The sum and the block are rescaled together, after the block was added to it."""
# softmax 2x20 rescale

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    lanes = tl.arange(0, BLOCK)
    m = float("-inf")
    s = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row + start + lanes, mask=inside, other=float("-inf"))
        new = tl.maximum(m, tl.max(x, axis=0))
        s = (s + tl.exp(x - m)) * tl.exp(m - new)
        m = new
    total = tl.sum(s, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row + start + lanes, mask=inside, other=float("-inf"))
        tl.store(out_ptr + row + start + lanes, tl.exp(x - m) / total, mask=inside)


def run(x, out):
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=8)
