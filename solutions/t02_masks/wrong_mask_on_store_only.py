"""The load has no mask: the last program reads past the end of x.

Rejected at: correctness
On a GPU: may pass by luck, for the memory behind x can be read, and no lane stores it.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, n):
    offsets = tl.program_id(0) * 64 + tl.arange(0, 64)
    inside = offsets < n
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=inside)


def programs_for(n):
    return triton.cdiv(n, 64)


def relu(x: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()
    relu_kernel[(programs_for(n),)](x, out, n)
