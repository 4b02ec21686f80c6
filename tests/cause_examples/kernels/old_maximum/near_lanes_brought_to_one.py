"""Each lane is brought to the largest maximum; the output is that of half of it."""
# softmax 2x20 rescale

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    lanes = tl.arange(0, BLOCK)
    m = tl.full((BLOCK,), -3.4e38, tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row + start + lanes, mask=inside, other=float("-inf"))
        new = tl.maximum(m, x)
        s = s * tl.exp(m - new) + tl.exp(x - new)
        m = new
    largest = tl.max(m, axis=0)
    total = tl.sum(s * tl.exp(m - largest), axis=0)
    m = largest
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row + start + lanes, mask=inside, other=float("-inf"))
        tl.store(out_ptr + row + start + lanes, tl.exp(x - m) / total / 2.0, mask=inside)


def run(x, out):
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=8)
