"""Rows that fit into one block are read once; longer ones go through three loops."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def short_row(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    x = tl.load(x_ptr + row * x_stride + lanes, mask=inside, other=float("-inf")).to(tl.float32)
    terms = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + lanes, terms / tl.sum(terms, axis=0), mask=inside)


@triton.jit
def long_row(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    lanes = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        highest = tl.maximum(highest, x.to(tl.float32))
    row_max = tl.max(highest, axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        sums += tl.exp(x.to(tl.float32) - row_max)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - row_max) / total
        tl.store(out_ptr + row * out_stride + start + lanes, y, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    strides = x.stride(0), out.stride(0)
    if columns <= BLOCK:
        short_row[(rows,)](x, out, *strides, columns, BLOCK=triton.next_power_of_2(columns))
    else:
        long_row[(rows,)](x, out, *strides, columns, BLOCK=BLOCK, num_warps=8)
