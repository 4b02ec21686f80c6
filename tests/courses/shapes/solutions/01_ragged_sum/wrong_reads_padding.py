"""Reads each row to its end, and masks what it read.

Rejected at: traffic
"""

import triton
import triton.language as tl


@triton.jit
def sum_rows(x, lengths, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        places = start + tl.arange(0, BLOCK)
        read = tl.load(x + row * stride + places, places < columns, other=0.0)
        total += tl.where(places < length, read, 0.0)
    tl.store(out + row, tl.sum(total))


def ragged_sum(x, lengths, out):
    sum_rows[(len(lengths),)](x, lengths, out, x.shape[1], x.stride(0), BLOCK=128)
