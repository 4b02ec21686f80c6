"""Chunks of 3,072 columns, three blocks in an unrolled loop: no power of two."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, 3 * BLOCK):
        for part in tl.static_range(3):
            offsets = start + part * BLOCK + lanes
            x = tl.load(x_row + offsets, mask=offsets < columns, other=float("-inf"))
            highest = tl.maximum(highest, x.to(tl.float32))
    row_max = tl.max(highest, axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, 3 * BLOCK):
        for part in tl.static_range(3):
            offsets = start + part * BLOCK + lanes
            x = tl.load(x_row + offsets, mask=offsets < columns, other=float("-inf"))
            sums += tl.exp(x.to(tl.float32) - row_max)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, 3 * BLOCK):
        for part in tl.static_range(3):
            offsets = start + part * BLOCK + lanes
            x = tl.load(x_row + offsets, mask=offsets < columns, other=float("-inf"))
            y = tl.exp(x.to(tl.float32) - row_max) / total
            tl.store(out_row + offsets, y, mask=offsets < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=4)
