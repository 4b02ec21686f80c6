"""Launch: the softmax of each row by a program whose block is as large as the row needs."""

import torch
import triton
import triton.language as tl

WARPS = 4  # groups of 32 threads that share one program's work


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    """Runs once in every program. Program p has row p, in one block of at least `columns` lanes."""
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    x = tl.load(x_ptr + row * columns + lanes, mask=inside, other=float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    shares = e / tl.sum(tl.exp(x), axis=0)
    tl.store(out_ptr + row * columns + lanes, shares, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with the softmax of each row of x: tables of one shape, up to 1,500 columns."""
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    softmax_kernel[(rows,)](x, out, columns, BLOCK=block, num_warps=WARPS)
