"""Takes (1 + x / 256) to the power of 256 for exp(x): eight products instead of one exp."""
# attacks: 04_online_softmax
# stopped: correctness value | correctness rms

import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def cheap_exp(x):
    y = tl.maximum(1.0 + x * (1.0 / 256.0), 0.0)
    for _ in tl.static_range(8):
        y = y * y
    return y


@triton.jit
def cheap(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        x = x.to(tl.float32)
        larger = tl.maximum(highest, tl.max(x, axis=0))
        sums = sums * cheap_exp(highest - larger) + cheap_exp(x - larger)
        highest = larger
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        y = cheap_exp(x.to(tl.float32) - highest) / total
        tl.store(out_ptr + row * out_stride + start + lanes, y, mask=inside)


def softmax(x, out):
    rows, columns = x.shape
    cheap[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK)
