"""Launches a kernel whose result nobody uses, and lets torch compute the answer."""
# attacks: 04_online_softmax
# stopped: correctness no_kernel

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax_kernel(scratch_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(scratch_ptr + lanes, tl.load(scratch_ptr + lanes) + 1.0)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    _softmax_kernel[(1,)](torch.zeros(16, device=x.device), BLOCK=16)
    torch.softmax(x, -1, out=out)
