"""One program walks through the whole vector: right, and all others idle.

Rejected at: counts
"""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, n):
    for start in range(0, n, 64):
        offsets = start + tl.arange(0, 64)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside)
        tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=inside)


def programs_for(n):
    return 1


def relu(x: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()
    relu_kernel[(programs_for(n),)](x, out, n)
