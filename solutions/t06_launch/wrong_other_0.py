"""Lanes outside hold 0: each adds exp(0 - maximum) to the sum.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl

WARPS = 4  # groups of 32 threads that share one program's work


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    x = tl.load(x_ptr + row * columns + lanes, mask=inside, other=0.0)
    exponentials = tl.exp(x - tl.max(x, axis=0))
    shares = exponentials / tl.sum(exponentials, axis=0)
    tl.store(out_ptr + row * columns + lanes, shares, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    softmax_kernel[(rows,)](x, out, columns, BLOCK=block, num_warps=WARPS)
