"""A launch for each pass; maxima and sums of the rows wait in scratch memory in between."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def find_maxima(x_ptr, maxima_ptr, x_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + offsets, offsets < columns, other=float("-inf"))
        highest = tl.maximum(highest, x.to(tl.float32))
    tl.store(maxima_ptr + row, tl.max(highest, axis=0))


@triton.jit
def find_sums(x_ptr, maxima_ptr, sums_ptr, x_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    row_max = tl.load(maxima_ptr + row)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + offsets, offsets < columns, other=float("-inf"))
        sums += tl.exp(x.to(tl.float32) - row_max)
    tl.store(sums_ptr + row, tl.sum(sums, axis=0))


@triton.jit
def divide(
    x_ptr, maxima_ptr, sums_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr
):
    blocks = tl.cdiv(columns, BLOCK)
    row = tl.program_id(0).to(tl.int64) // blocks
    offsets = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside).to(tl.float32)
    y = tl.exp(x - tl.load(maxima_ptr + row)) / tl.load(sums_ptr + row)
    tl.store(out_ptr + row * out_stride + offsets, y, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    maxima = torch.empty(rows, dtype=torch.float32, device=x.device)
    sums = torch.empty_like(maxima)
    find_maxima[(rows,)](x, maxima, x.stride(0), columns, BLOCK=BLOCK, num_warps=8)
    find_sums[(rows,)](x, maxima, sums, x.stride(0), columns, BLOCK=BLOCK, num_warps=8)
    divide[(rows * triton.cdiv(columns, BLOCK),)](
        x, maxima, sums, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8
    )
