"""Each pass is a helper that returns a block; one of them returns a tuple."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def highest_of(x_row, columns, lanes, BLOCK: tl.constexpr):
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        highest = tl.maximum(highest, x.to(tl.float32))
    return tl.max(highest, axis=0)


@triton.jit
def sum_of(x_row, columns, lanes, row_max, BLOCK: tl.constexpr):
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        sums += tl.exp(x.to(tl.float32) - row_max)
    total = tl.sum(sums, axis=0)
    return total, 1.0 / total


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    row_max = highest_of(x_row, columns, lanes, BLOCK)
    _total, inverse = sum_of(x_row, columns, lanes, row_max, BLOCK)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        y = tl.exp(x - row_max) * inverse
        tl.store(out_row + start + lanes, y, mask=start + lanes < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=4)
