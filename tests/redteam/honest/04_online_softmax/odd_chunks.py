"""Chunks of 5 blocks of 512 columns, no power of two, with one rescaling for each chunk."""

import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    row_max = float("-inf")
    total = 0.0
    for start in range(0, columns, 5 * BLOCK):
        highest = tl.full((BLOCK,), float("-inf"), tl.float32)
        sums = tl.zeros((BLOCK,), tl.float32)
        for part in tl.static_range(5):
            offsets = start + part * BLOCK + lanes
            x = tl.load(x_row + offsets, mask=offsets < columns, other=float("-inf"))
            x = x.to(tl.float32)
            higher = tl.maximum(highest, x)
            higher = tl.maximum(higher, -3.4028234663852886e38)
            sums = sums * tl.exp(highest - higher) + tl.exp(x - higher)
            highest = higher
        new_max = tl.maximum(row_max, tl.max(highest, axis=0))
        total = total * tl.exp(row_max - new_max) + tl.sum(sums * tl.exp(highest - new_max), axis=0)
        row_max = new_max
    for start in range(0, columns, 5 * BLOCK):
        for part in tl.static_range(5):
            offsets = start + part * BLOCK + lanes
            x = tl.load(x_row + offsets, mask=offsets < columns, other=float("-inf"))
            y = tl.exp(x.to(tl.float32) - row_max) / total
            tl.store(out_row + offsets, y, mask=offsets < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=4)
