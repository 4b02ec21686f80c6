"""Each row is split among several programs; every launch adds up what the parts before found."""

import torch
import triton
import triton.language as tl

BLOCK = 1024
SPLITS = 8


@triton.jit
def part_maxima(
    x_ptr, maxima_ptr, x_stride, columns, part, SPLITS: tl.constexpr, BLOCK: tl.constexpr
):
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stop = tl.minimum((split + 1) * part, columns)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(split * part, stop, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + offsets, offsets < stop, other=float("-inf"))
        highest = tl.maximum(highest, x.to(tl.float32))
    tl.store(maxima_ptr + row * SPLITS + split, tl.max(highest, axis=0))


@triton.jit
def part_sums(
    x_ptr, maxima_ptr, sums_ptr, x_stride, columns, part, SPLITS: tl.constexpr, BLOCK: tl.constexpr
):
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stop = tl.minimum((split + 1) * part, columns)
    row_max = tl.max(tl.load(maxima_ptr + row * SPLITS + tl.arange(0, SPLITS)), axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(split * part, stop, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + offsets, offsets < stop, other=float("-inf"))
        sums += tl.exp(x.to(tl.float32) - row_max)
    tl.store(sums_ptr + row * SPLITS + split, tl.sum(sums, axis=0))


@triton.jit
def write_parts(
    x_ptr,
    maxima_ptr,
    sums_ptr,
    out_ptr,
    x_stride,
    out_stride,
    columns,
    part,
    SPLITS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stop = tl.minimum((split + 1) * part, columns)
    row_max = tl.max(tl.load(maxima_ptr + row * SPLITS + tl.arange(0, SPLITS)), axis=0)
    total = tl.sum(tl.load(sums_ptr + row * SPLITS + tl.arange(0, SPLITS)), axis=0)
    for start in range(split * part, stop, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + offsets, mask=offsets < stop).to(tl.float32)
        tl.store(out_ptr + row * out_stride + offsets, tl.exp(x - row_max) / total, offsets < stop)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    part = triton.cdiv(triton.cdiv(columns, SPLITS), BLOCK) * BLOCK
    maxima = torch.empty((rows, SPLITS), dtype=torch.float32, device=x.device)
    sums = torch.empty_like(maxima)
    grid = (rows, SPLITS)
    sizes = {"SPLITS": SPLITS, "BLOCK": BLOCK}
    part_maxima[grid](x, maxima, x.stride(0), columns, part, **sizes)
    part_sums[grid](x, maxima, sums, x.stride(0), columns, part, **sizes)
    write_parts[grid](x, maxima, sums, out, x.stride(0), out.stride(0), columns, part, **sizes)
