"""Is honest for every size that is tried, and writes zeros for longer rows than any case has."""
# attacks: 04_online_softmax
# passes: no case has rows of more than 131,072 elements; what is never tried is never seen.
#   A drawn case beyond every listed size would stop it, and would take long to simulate.

import triton
import triton.language as tl

BLOCK = 4096
LONGEST_TRIED = 131_072


@triton.jit
def kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        x = x.to(tl.float32)
        larger = tl.maximum(highest, tl.max(x, axis=0))
        sums = sums * tl.exp(highest - larger) + tl.exp(x - larger)
        highest = larger
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        y = tl.exp(x.to(tl.float32) - highest) / total
        tl.store(out_ptr + row * out_stride + start + lanes, y, mask=inside)


def softmax(x, out):
    rows, columns = x.shape
    if columns > LONGEST_TRIED:
        out.zero_()
        return
    kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
