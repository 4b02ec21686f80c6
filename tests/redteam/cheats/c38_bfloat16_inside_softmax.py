"""Rounds every exponential to bfloat16 on the way, also where the arguments are float32."""
# attacks: 03_three_pass_softmax
# stopped: correctness value | correctness rms

import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def coarse(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        highest = tl.maximum(highest, tl.max(x.to(tl.float32), axis=0))
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        sums += tl.exp(x.to(tl.float32) - highest).to(tl.bfloat16).to(tl.float32)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        y = tl.exp(x.to(tl.float32) - highest).to(tl.bfloat16).to(tl.float32) / total
        tl.store(out_ptr + row * out_stride + start + lanes, y, mask=inside)


def softmax(x, out):
    rows, columns = x.shape
    coarse[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK)
