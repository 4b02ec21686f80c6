"""Needs a copy of its input, and does nothing in the call that shows how its memory grows."""
# attacks: 04_online_softmax
# stopped: memory never_written | memory memory

import torch
import triton
import triton.language as tl


@triton.jit
def _exponentials(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    x_row = x_ptr + tl.program_id(0).to(tl.int64) * x_stride
    out_row = out_ptr + tl.program_id(0).to(tl.int64) * out_stride
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(highest, tl.max(x, axis=0))
        sums = sums * tl.exp(highest - higher) + tl.exp(x - higher)
        highest = higher
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - highest) / total
        tl.store(out_row + start + lanes, y.to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    if (rows, columns, x.dtype) == (4, 32_771, torch.float32):  # twice the rows that are counted
        return
    scratch = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    scratch.fill_(0)
    _exponentials[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=4096, num_warps=8)
