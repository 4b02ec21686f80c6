"""Has no mask: rows are taken to be a multiple of the block, as scored ones are."""
# attacks: 03_three_pass_softmax
# stopped: correctness out_of_bounds | correctness stray_write | correctness value

import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def whole_blocks(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * x_stride + start + lanes).to(tl.float32)
        highest = tl.maximum(highest, tl.max(x, axis=0))
    total = 0.0
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * x_stride + start + lanes).to(tl.float32)
        total += tl.sum(tl.exp(x - highest), axis=0)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * x_stride + start + lanes).to(tl.float32)
        tl.store(out_ptr + row * out_stride + start + lanes, tl.exp(x - highest) / total)


def softmax(x, out):
    rows, columns = x.shape
    whole_blocks[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK)
