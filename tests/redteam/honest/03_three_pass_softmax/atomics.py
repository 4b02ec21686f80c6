"""Every block of every row is a program; rows meet in atomic maxima and atomic sums."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def maxima_of_blocks(x_ptr, maxima_ptr, x_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + offsets, mask=offsets < columns, other=float("-inf"))
    tl.atomic_max(maxima_ptr + row, tl.max(x.to(tl.float32), axis=0))


@triton.jit
def sums_of_blocks(x_ptr, maxima_ptr, sums_ptr, x_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + offsets, mask=offsets < columns, other=float("-inf"))
    terms = tl.exp(x.to(tl.float32) - tl.load(maxima_ptr + row))
    tl.atomic_add(sums_ptr + row, tl.sum(terms, axis=0))


@triton.jit
def write_blocks(
    x_ptr, maxima_ptr, sums_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside).to(tl.float32)
    y = tl.exp(x - tl.load(maxima_ptr + row)) / tl.load(sums_ptr + row)
    tl.store(out_ptr + row * out_stride + offsets, y, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    maxima = torch.full((rows,), float("-inf"), dtype=torch.float32, device=x.device)
    sums = torch.zeros(rows, dtype=torch.float32, device=x.device)
    grid = (rows, triton.cdiv(columns, BLOCK))
    maxima_of_blocks[grid](x, maxima, x.stride(0), columns, BLOCK=BLOCK, num_warps=8)
    sums_of_blocks[grid](x, maxima, sums, x.stride(0), columns, BLOCK=BLOCK, num_warps=8)
    write_blocks[grid](
        x, maxima, sums, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8
    )
