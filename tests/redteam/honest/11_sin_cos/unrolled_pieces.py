"""A program takes four pieces of its block, one after the other, by an unrolled loop."""

import torch
import triton
import triton.language as tl

BLOCK = 256
PIECES = 4


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, BLOCK: tl.constexpr, PIECES: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * (BLOCK * PIECES)
    for piece in tl.static_range(PIECES):
        offsets = start + piece * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
        tl.store(sin_ptr + offsets, tl.sin(x), mask=inside)
        tl.store(cos_ptr + offsets, tl.cos(x), mask=inside)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    programs = triton.cdiv(n, BLOCK * PIECES)
    sin_cos_kernel[(programs,)](x, sin_out, cos_out, n, BLOCK=BLOCK, PIECES=PIECES)
