"""Masks: the negative elements of a vector become 0, whatever its length is."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, n):
    """Runs once in every program. Program p has the 64 elements from p * 64 on; n is the length."""
    offsets = tl.program_id(0) * 64 + tl.arange(0, 64)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x, mask=inside & (x > 0))


def programs_for(n):
    """Returns the number of programs of 64 lanes that have a lane for each of n elements."""
    return triton.cdiv(n, 64)


def relu(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with x, and with 0 where x is negative: vectors of one length, which is any."""
    n = x.numel()
    relu_kernel[(programs_for(n),)](x, out, n)
