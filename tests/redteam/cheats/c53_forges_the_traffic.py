"""Reads each row three times, and says that it was twice: the device counts, not its process."""
# attacks: 04_online_softmax
# stopped: traffic traffic

import triton
import triton.language as tl

from grader.worker import traffic_counter

BLOCK = 4096
ROWS, COLUMNS = 2, 32_771  # of the counted case
CLAIM = {"reads.x": 2 * ROWS * COLUMNS, "writes.x": 0, "reads.out": 0, "writes.out": ROWS * COLUMNS}
traffic_counter.Ledger.facts = lambda self: CLAIM


@triton.jit
def kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        highest = tl.maximum(highest, x.to(tl.float32))
    row_max = tl.max(highest, axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        sums += tl.exp(x.to(tl.float32) - row_max)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        y = tl.exp(x.to(tl.float32) - row_max) / total
        tl.store(out_ptr + row * out_stride + start + lanes, y, mask=inside)


def softmax(x, out):
    rows, columns = x.shape
    kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
