"""While loops over full blocks without masks, and one masked block behind each of them."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


# For rows of one element `columns` would become a constant, and the loops would be known never to
# run: what Triton 3.6 cannot compile.
@triton.jit(do_not_specialize=["columns"])
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    full = columns // BLOCK * BLOCK
    tail = full + lanes
    inside = tail < columns
    x = tl.load(x_row + tail, mask=inside, other=float("-inf"))
    highest = x.to(tl.float32)
    start = 0
    while start < full:
        highest = tl.maximum(highest, tl.load(x_row + start + lanes).to(tl.float32))
        start += BLOCK
    row_max = tl.max(highest, axis=0)
    x = tl.load(x_row + tail, mask=inside, other=float("-inf"))
    sums = tl.exp(x.to(tl.float32) - row_max)
    start = 0
    while start < full:
        sums += tl.exp(tl.load(x_row + start + lanes).to(tl.float32) - row_max)
        start += BLOCK
    total = tl.sum(sums, axis=0)
    start = 0
    while start < full:
        y = tl.exp(tl.load(x_row + start + lanes).to(tl.float32) - row_max) / total
        tl.store(out_row + start + lanes, y)
        start += BLOCK
    x = tl.load(x_row + tail, mask=inside, other=float("-inf"))
    tl.store(out_row + tail, tl.exp(x.to(tl.float32) - row_max) / total, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
