"""Parts of a row leave their pairs of maximum and sum to a second launch that combines them."""

import torch
import triton
import triton.language as tl

BLOCK = 1024
SPLITS = 8


@triton.jit
def parts(
    x_ptr,
    maxima_ptr,
    sums_ptr,
    x_stride,
    columns,
    part,
    SPLITS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stop = tl.minimum((split + 1) * part, columns)
    part_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(split * part, stop, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + offsets, offsets < stop, other=float("-inf"))
        x = x.to(tl.float32)
        new_max = tl.maximum(part_max, tl.max(x, axis=0))
        sums = sums * tl.exp(part_max - new_max) + tl.exp(x - new_max)
        part_max = new_max
    tl.store(maxima_ptr + row * SPLITS + split, part_max)
    tl.store(sums_ptr + row * SPLITS + split, tl.sum(sums, axis=0))


@triton.jit
def answers(
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
    maxima = tl.load(maxima_ptr + row * SPLITS + tl.arange(0, SPLITS))
    row_max = tl.max(maxima, axis=0)
    sums = tl.load(sums_ptr + row * SPLITS + tl.arange(0, SPLITS))
    total = tl.sum(sums * tl.exp(maxima - row_max), axis=0)
    stop = tl.minimum((split + 1) * part, columns)
    for start in range(split * part, stop, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + offsets, mask=offsets < stop).to(tl.float32)
        tl.store(out_ptr + row * out_stride + offsets, tl.exp(x - row_max) / total, offsets < stop)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    part = triton.cdiv(triton.cdiv(columns, SPLITS), BLOCK) * BLOCK
    maxima = torch.empty((rows, SPLITS), dtype=torch.float32, device=x.device)
    sums = torch.empty_like(maxima)
    sizes = {"SPLITS": SPLITS, "BLOCK": BLOCK}
    parts[(rows, SPLITS)](x, maxima, sums, x.stride(0), columns, part, **sizes)
    answers[(rows, SPLITS)](
        x, maxima, sums, out, x.stride(0), out.stride(0), columns, part, **sizes
    )
