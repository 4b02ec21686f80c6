"""Assertions at compile time and, if asked for, at run time guard what the kernel relies on."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK % 32 == 0, "whole warps")
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(n > 0, "nothing to add")
    inside = offsets < n
    tl.assume(n >= 0)
    x = tl.load(x_ptr + tl.multiple_of(offsets, 16), mask=inside).to(tl.float32)
    y = tl.load(y_ptr + tl.max_contiguous(offsets, BLOCK), mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    add_kernel[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)
