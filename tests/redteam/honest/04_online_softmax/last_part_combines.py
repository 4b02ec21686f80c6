"""A counter for each row tells the part that ends last, and that one combines all parts."""

import torch
import triton
import triton.language as tl

BLOCK = 2048
SPLITS = 4


@triton.jit
def parts(
    x_ptr,
    maxima_ptr,
    sums_ptr,
    arrived_ptr,
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
    tl.debug_barrier()  # both are there before the counter says so
    if tl.atomic_add(arrived_ptr + row, 1, sem="acq_rel") == SPLITS - 1:
        every = row * SPLITS + tl.arange(0, SPLITS)
        maxima = tl.load(maxima_ptr + every, volatile=True)
        row_max = tl.max(maxima, axis=0)
        weighted = tl.load(sums_ptr + every, volatile=True) * tl.exp(maxima - row_max)
        total = tl.sum(weighted, axis=0)
        tl.debug_barrier()  # all are read before the first is overwritten
        tl.store(maxima_ptr + row * SPLITS, row_max)
        tl.store(sums_ptr + row * SPLITS, total)


@triton.jit
def answers(
    x_ptr,
    maxima_ptr,
    sums_ptr,
    out_ptr,
    x_stride,
    out_stride,
    columns,
    blocks,
    SPLITS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) // blocks
    offsets = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    row_max = tl.load(maxima_ptr + row * SPLITS)
    total = tl.load(sums_ptr + row * SPLITS)
    x = tl.load(x_ptr + row * x_stride + offsets, mask=offsets < columns).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, tl.exp(x - row_max) / total, offsets < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    blocks = triton.cdiv(columns, BLOCK)
    maxima = torch.empty((rows, SPLITS), dtype=torch.float32, device=x.device)
    sums = torch.empty_like(maxima)
    arrived = torch.zeros(rows, dtype=torch.int32, device=x.device)
    sizes = {"SPLITS": SPLITS, "BLOCK": BLOCK}
    parts[(rows, SPLITS)](
        x, maxima, sums, arrived, x.stride(0), columns, triton.cdiv(blocks, SPLITS) * BLOCK, **sizes
    )
    answers[(rows * blocks,)](
        x, maxima, sums, out, x.stride(0), out.stride(0), columns, blocks, **sizes
    )
