"""Joins pairs of maximum and sum by a reduction of its own."""

import torch
import triton
import triton.language as tl

BLOCK = 8192  # columns that a program keeps in registers; a power of two, as tl.arange asks
WARPS = 8  # groups of 32 threads that share one program's work
# Below all maxima; with -inf, two unused lanes would join to NaN.
LOWEST = tl.constexpr(-3.4028234663852886e38)


@triton.jit
def take_ticket(tickets_ptr):
    """Return how many programs have come here before this one."""
    return tl.atomic_add(tickets_ptr, 1, sem="relaxed")


@triton.jit
def meet(arrived_ptr, programs):
    """Wait until `programs` programs have come here. All that they stored before can be read."""
    tl.atomic_add(arrived_ptr, 1, sem="release")
    while tl.atomic_add(arrived_ptr, 0, sem="acquire") < programs:
        pass


@triton.jit
def joined(high, total, other_high, other_total):
    """Return the maximum and the sum of both."""
    top = tl.maximum(high, other_high)
    return top, total * tl.exp(high - top) + other_total * tl.exp(other_high - top)


@triton.jit
def softmax_kernel(
    x_ptr,
    out_ptr,
    highs_ptr,
    sums_ptr,
    counts_ptr,
    x_stride,
    out_stride,
    columns,
    PARTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Fill one part of a row. `counts` is 0: the tickets, and the arrivals of each row."""
    # By its ticket and not by its id: programs with lower tickets have begun.
    ticket = take_ticket(counts_ptr).to(tl.int64)
    row = ticket // PARTS
    part = ticket % PARTS
    offsets = part * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns

    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=float("-inf")).to(tl.float32)
    high = tl.max(x, axis=0)
    powers = tl.exp(x - high)
    total = tl.sum(powers, axis=0)
    factor = 1 / total

    if PARTS > 1:
        tl.store(highs_ptr + ticket, high)
        tl.store(sums_ptr + ticket, total)
        meet(counts_ptr + 1 + row, PARTS)
        lanes = tl.arange(0, triton.next_power_of_2(PARTS))
        used = lanes < PARTS
        highs = tl.load(highs_ptr + row * PARTS + lanes, mask=used, other=LOWEST)
        sums = tl.load(sums_ptr + row * PARTS + lanes, mask=used, other=0.0)
        row_high, row_total = tl.reduce((highs, sums), 0, joined)
        factor = tl.exp(high - row_high) / row_total

    tl.store(out_ptr + row * out_stride + offsets, powers * factor, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with the softmax of `x` over its last dimension.

    Both are (rows, columns) of one dtype: float32, float16 or bfloat16. Neighbours in a row lie
    next to each other in memory; the row strides may differ and may exceed `columns`.
    """
    rows, columns = x.shape
    block = min(BLOCK, triton.next_power_of_2(columns))  # a short row needs no more lanes
    parts = triton.cdiv(columns, block)
    highs = torch.empty(rows * parts, dtype=torch.float32, device=x.device)
    sums = torch.empty_like(highs)
    counts = torch.zeros(1 + rows, dtype=torch.int32, device=x.device)
    softmax_kernel[(rows * parts,)](
        *(x, out, highs, sums, counts, x.stride(0), out.stride(0), columns),
        PARTS=parts,
        BLOCK=block,
        num_warps=WARPS,
    )
