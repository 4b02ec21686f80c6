"""Rounds a 16-bit sum towards zero: each is off by less than one unit in its last place.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    total = x.to(tl.float32) + y.to(tl.float32)
    if out_ptr.dtype.element_ty != tl.float32:
        total = total.to(out_ptr.dtype.element_ty, fp_downcast_rounding="rtz")
    tl.store(out_ptr + offsets, total, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    add_kernel[(programs,)](x, y, out, n, BLOCK=BLOCK)
