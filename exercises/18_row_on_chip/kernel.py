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
    # TODO: draw a number that no other program gets, in the order of their starts
    pass


@triton.jit
def meet(arrived_ptr, programs):
    """Wait until `programs` programs have come here. All that they stored before can be read."""
    # TODO: count this program, then look at the count until it is complete
    pass


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
    # TODO: which row, and which part of it, is this program's?
    pass
    offsets = part * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns

    # TODO: read this part, once; find its maximum, and the sum of exp(x - maximum)
    pass
    factor = 1 / total

    if PARTS > 1:
        # TODO: share both with the row's other programs, wait, find the row's factor
        pass

    tl.store(out_ptr + row * out_stride + offsets, powers * factor, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with the softmax of `x` over its last dimension.

    Both are (rows, columns) of one dtype: float32, float16 or bfloat16. Neighbours in a row lie
    next to each other in memory; the row strides may differ and may exceed `columns`.
    """
    rows, columns = x.shape
    block = min(BLOCK, triton.next_power_of_2(columns))  # a short row needs no more lanes
    parts = triton.cdiv(columns, block)
    raise NotImplementedError(
        "18_row_on_chip: allocate what programs share; launch a program for each part"
    )
