"""Sine and cosine of one input in one kernel: x is read once, and both outputs are written."""

import torch
import triton
import triton.language as tl

BLOCK = 512  # elements that one program computes: four for each of its 128 threads


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, BLOCK: tl.constexpr):
    """Fills one block of both outputs: program p owns the elements from p * BLOCK on.

    `x_ptr`, `sin_ptr` and `cos_ptr` are addresses of the first elements, and n is the length. The
    program number is a 32-bit integer: widen it by `.to(tl.int64)` before multiplying, or it
    overflows on vectors of more than 2**31 elements.
    """
    # BEGIN SOLUTION: load this program's block once, in float32; store its sine and its cosine
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    # tl.sin and tl.cos take float32 or float64. Each store rounds to the dtype of its output.
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(sin_ptr + offsets, tl.sin(x), mask=inside)
    tl.store(cos_ptr + offsets, tl.cos(x), mask=inside)
    # END SOLUTION


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    """Fills sin_out with the sine of x, and cos_out with its cosine; x is in radians.

    All three are 1-D tensors of one length and one dtype.
    """
    n = x.numel()
    # BEGIN SOLUTION: launch one kernel, with enough programs that each element belongs to one
    sin_cos_kernel[(triton.cdiv(n, BLOCK),)](x, sin_out, cos_out, n, BLOCK=BLOCK)
    # END SOLUTION
