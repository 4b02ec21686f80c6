"""The number of programs is rounded down: the short block at the end is left out.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, n):
    offsets = tl.program_id(0) * 64 + tl.arange(0, 64)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=inside)


def programs_for(n):
    return max(1, n // 64)


def relu(x: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()
    relu_kernel[(programs_for(n),)](x, out, n)
