"""A branch: the old sum is rescaled only when a block brings a larger maximum."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_row + lanes, mask=lanes < columns, other=float("-inf")).to(tl.float32)
    row_max = tl.max(x, axis=0)
    sums = tl.exp(x - row_max)
    for start in range(BLOCK, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        block_max = tl.max(x, axis=0)
        if block_max > row_max:
            sums *= tl.exp(row_max - block_max)
            row_max = block_max
        sums += tl.exp(x - row_max)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(out_row + start + lanes, tl.exp(x - row_max) / total, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
