"""A loop that asks the compiler for three stages of pipelining, over stretches of 8 blocks."""

import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, STRETCH: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * STRETCH
    for start in tl.range(0, STRETCH, BLOCK, num_stages=3):
        offsets = first + start + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside)
        y = tl.load(y_ptr + offsets, mask=inside)
        tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    grid = (triton.cdiv(n, 8 * BLOCK),)
    add_kernel[grid](x, y, out, n, STRETCH=8 * BLOCK, BLOCK=BLOCK, num_stages=3)
