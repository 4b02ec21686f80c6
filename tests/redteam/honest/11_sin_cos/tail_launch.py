"""One launch without masks for whole blocks, and one program with a mask for the rest."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def whole_kernel(x_ptr, sin_ptr, cos_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets).to(tl.float32)
    tl.store(sin_ptr + offsets, tl.sin(x))
    tl.store(cos_ptr + offsets, tl.cos(x))


@triton.jit
def rest_kernel(x_ptr, sin_ptr, cos_ptr, start, n, BLOCK: tl.constexpr):
    offsets = start + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(sin_ptr + offsets, tl.sin(x), mask=inside)
    tl.store(cos_ptr + offsets, tl.cos(x), mask=inside)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    whole = n // BLOCK
    if whole:
        whole_kernel[(whole,)](x, sin_out, cos_out, BLOCK=BLOCK)
    if n % BLOCK:
        rest_kernel[(1,)](x, sin_out, cos_out, whole * BLOCK, n, BLOCK=BLOCK)
