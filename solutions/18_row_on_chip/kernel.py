"""Softmax of long rows, each element read once: the programs of a row wait for each other.

    out[i, j] = exp(x[i, j] - m[i]) / s[i]
    m[i] = max_j x[i, j]     s[i] = sum_j exp(x[i, j] - m[i])

A row is cut into parts of BLOCK columns, one for each program. A program keeps its part in
registers. It shares the part's maximum and sum with the row's other programs, through memory, and
waits until they have shared theirs. Then it knows the row's, and stores its part of the output.
"""

import torch
import triton
import triton.language as tl

BLOCK = 8192  # columns that a program keeps in registers; a power of two, as tl.arange asks
WARPS = 8  # groups of 32 threads that share one program's work


@triton.jit
def take_ticket(tickets_ptr):
    """Return how many programs have come here before this one."""
    # BEGIN SOLUTION: draw a number that no other program gets, in the order of their starts
    return tl.atomic_add(tickets_ptr, 1, sem="relaxed")
    # END SOLUTION


@triton.jit
def meet(arrived_ptr, programs):
    """Wait until `programs` programs have come here. All that they stored before can be read."""
    # BEGIN SOLUTION: count this program, then look at the count until it is complete
    tl.atomic_add(arrived_ptr, 1, sem="release")
    while tl.atomic_add(arrived_ptr, 0, sem="acquire") < programs:
        pass
    # END SOLUTION


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
    # BEGIN SOLUTION: which row, and which part of it, is this program's?
    # By its ticket and not by its id: programs with lower tickets have begun.
    ticket = take_ticket(counts_ptr)
    row = (ticket // PARTS).to(tl.int64)
    part = ticket % PARTS  # of 32 bits: 64-bit offsets would fill twice the registers
    # END SOLUTION
    offsets = part * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns

    # BEGIN SOLUTION: read this part, once; find its maximum, and the sum of exp(x - maximum)
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=float("-inf")).to(tl.float32)
    high = tl.max(x, axis=0)
    powers = tl.exp(x - high)
    total = tl.sum(powers, axis=0)
    # END SOLUTION
    factor = 1 / total

    if PARTS > 1:
        # BEGIN SOLUTION: share both with the row's other programs, wait, find the row's factor
        tl.store(highs_ptr + ticket, high)
        tl.store(sums_ptr + ticket, total)
        meet(counts_ptr + 1 + row, PARTS)
        lanes = tl.arange(0, triton.next_power_of_2(PARTS))
        used = lanes < PARTS
        highs = tl.load(highs_ptr + row * PARTS + lanes, mask=used, other=float("-inf"))
        sums = tl.load(sums_ptr + row * PARTS + lanes, mask=used, other=0.0)
        row_high = tl.max(highs, axis=0)
        factor = tl.exp(high - row_high) / tl.sum(sums * tl.exp(highs - row_high), axis=0)
        # END SOLUTION

    tl.store(out_ptr + row * out_stride + offsets, powers * factor, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with the softmax of `x` over its last dimension.

    Both are (rows, columns) of one dtype: float32, float16 or bfloat16. Neighbours in a row lie
    next to each other in memory; the row strides may differ and may exceed `columns`.
    """
    rows, columns = x.shape
    block = min(BLOCK, triton.next_power_of_2(columns))  # a short row needs no more lanes
    parts = triton.cdiv(columns, block)
    # BEGIN SOLUTION: allocate what programs share; launch a program for each part
    highs = torch.empty(rows * parts, dtype=torch.float32, device=x.device)
    sums = torch.empty_like(highs)
    counts = torch.zeros(1 + rows, dtype=torch.int32, device=x.device)
    softmax_kernel[(rows * parts,)](
        *(x, out, highs, sums, counts, x.stride(0), out.stride(0), columns),
        PARTS=parts,
        BLOCK=block,
        num_warps=WARPS,
    )
    # END SOLUTION
