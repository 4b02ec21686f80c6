"""A grid of two axes whose surplus programs find nothing to do and return."""

import torch
import triton
import triton.language as tl

BLOCK = 1024
WIDTH = 64  # programs along axis 0


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    number = tl.program_id(1).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
    start = number * BLOCK
    if start >= n:
        return
    offsets = start + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    blocks = triton.cdiv(n, BLOCK)
    # Axis 1 may have 65,535 programs: longer vectors get more along axis 0.
    width = max(WIDTH, triton.cdiv(blocks, 65_535))
    add_kernel[(width, triton.cdiv(blocks, width))](x, y, out, n, BLOCK=BLOCK)
