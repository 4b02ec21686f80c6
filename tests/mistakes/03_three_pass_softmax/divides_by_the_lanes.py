"""Softmax of every row in three passes: the maximum, the sum of exponentials, the answer.

    out[i, j] = exp(x[i, j] - m[i]) / s[i]
    m[i] = max_j x[i, j]     s[i] = sum_j exp(x[i, j] - m[i])

One program works on one row. A row may be longer than any block, so that each pass is a loop over
blocks of BLOCK columns. Every pass reads the row from memory again.
"""

import torch
import triton
import triton.language as tl

BLOCK = 4096  # columns that a program handles at a time; a power of two, as tl.arange asks
WARPS = 8  # groups of 32 threads that share one program's work


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    """Fill one row of `out`; the strides are in elements, and may exceed `columns`."""
    # 64 bits, because row * stride passes 2**31 in a tensor of more than 8 GiB of float32.
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)

    # Pass 1: the largest value of the row.
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        x = tl.load(x_row + offsets, mask=offsets < columns, other=float("-inf"))
        highest = tl.maximum(highest, x.to(tl.float32))
    row_max = tl.max(highest, axis=0)

    # Pass 2: the sum of exp(x - row_max). Masked lanes hold -inf, and exp(-inf) adds nothing.
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        x = tl.load(x_row + offsets, mask=offsets < columns, other=float("-inf"))
        sums += tl.exp(x.to(tl.float32) - row_max)

    # Pass 3: the answer, rounded once to the dtype of `out`.
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        inside = offsets < columns
        x = tl.load(x_row + offsets, mask=inside, other=float("-inf"))
        y = tl.exp(x.to(tl.float32) - row_max) / sums
        tl.store(out_row + offsets, y.to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with the softmax of `x` over its last dimension.

    Both are (rows, columns) of one dtype: float32, float16 or bfloat16. Neighbours in a row lie
    next to each other in memory; the row strides may differ and may exceed `columns`.
    """
    rows, columns = x.shape
    softmax_kernel[(rows,)](
        x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=WARPS
    )
