"""Pairs (maximum, sum) are combined by one tl.reduce over a pair of blocks."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def together(a_max, a_sum, b_max, b_sum):
    highest = tl.maximum(a_max, b_max)
    a_part = tl.where(a_max == highest, a_sum, a_sum * tl.exp(a_max - highest))
    b_part = tl.where(b_max == highest, b_sum, b_sum * tl.exp(b_max - highest))
    return highest, a_part + b_part


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    row_max = float("-inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        block_max, block_sum = tl.reduce((x, inside.to(tl.float32)), 0, together)
        row_max, total = together(row_max, total, block_max, block_sum)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(out_row + start + lanes, tl.exp(x - row_max) / total, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
