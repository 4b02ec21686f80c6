"""Softmax of every row in two passes: maximum and sum together, then the answer.

    out[i, j] = exp(x[i, j] - m[i]) / s[i]
    m[i] = max_j x[i, j]     s[i] = sum_j exp(x[i, j] - m[i])

The first pass keeps a sum that is right for the maximum seen so far. When a block brings a larger
maximum, the old sum is multiplied by exp(old maximum - new maximum): that turns each of its terms
exp(x - old) into exp(x - new). (Milakov and Gimelshein, "Online normalizer calculation for
softmax", 2018.)
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

    # Pass 1: the maximum of the row, and the sum of exp(x - maximum) over what was read so far.
    # TODO: for each block find the new maximum, rescale the old sum, add the block
    pass

    # Pass 2: the answer, rounded once to the dtype of `out`.
    # TODO: read the row a second time, divide by the sum, store where the mask allows
    pass


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with the softmax of `x` over its last dimension.

    Both are (rows, columns) of one dtype: float32, float16 or bfloat16. Neighbours in a row lie
    next to each other in memory; the row strides may differ and may exceed `columns`.
    """
    rows, columns = x.shape
    raise NotImplementedError(
        "04_online_softmax: launch one program for each row, and hand each tensor its own row "
        "stride"
    )
