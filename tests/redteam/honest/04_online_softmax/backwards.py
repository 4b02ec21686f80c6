"""The second pass goes from the end to the start, to find the last blocks in the cache."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    row_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
        row_max = new_max
    total = tl.sum(sums, axis=0)
    start = (columns - 1) // BLOCK * BLOCK
    while start >= 0:
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(out_row + start + lanes, tl.exp(x - row_max) / total, mask=inside)
        start -= BLOCK


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
