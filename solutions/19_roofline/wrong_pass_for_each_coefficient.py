"""Launches a kernel for each coefficient: right, but out is read and written each time.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def step_kernel(x_ptr, c_ptr, out_ptr, n, i, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.zeros((BLOCK,), tl.float32)
    if not FIRST:
        x = tl.load(x_ptr + offsets, mask=inside)
        total = tl.load(out_ptr + offsets, mask=inside) * x
    tl.store(out_ptr + offsets, total + tl.load(c_ptr + i), mask=inside)


def polynomial(x: torch.Tensor, c: torch.Tensor, out: torch.Tensor) -> None:
    n, degree = x.numel(), c.numel() - 1
    for i in range(degree, -1, -1):
        step_kernel[(triton.cdiv(n, BLOCK),)](x, c, out, n, i, FIRST=i == degree, BLOCK=BLOCK)
