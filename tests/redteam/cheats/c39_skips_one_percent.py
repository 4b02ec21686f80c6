"""Adds up 99 % of a row and scales the sum: one read in two hundred is saved."""
# attacks: 04_online_softmax
# stopped: correctness value | correctness rms

import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def shortened(x_ptr, out_ptr, x_stride, out_stride, columns, read, share, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, read, BLOCK):
        inside = start + lanes < read
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        x = x.to(tl.float32)
        larger = tl.maximum(highest, tl.max(x, axis=0))
        sums = sums * tl.exp(highest - larger) + tl.exp(x - larger)
        highest = larger
    total = tl.sum(sums, axis=0) / share
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        y = tl.exp(x.to(tl.float32) - highest) / total
        tl.store(out_ptr + row * out_stride + start + lanes, y, mask=inside)


def softmax(x, out):
    rows, columns = x.shape
    read = columns - columns // 100
    strides = x.stride(0), out.stride(0)
    shortened[(rows,)](x, out, *strides, columns, read, read / columns, BLOCK=BLOCK)
