"""The programs lie on all three axes of the grid, and the kernel counts them through."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)
    program = program.to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    grid = (triton.cdiv(n, 6 * BLOCK), 3, 2)
    add_kernel[grid](x, y, out, n, BLOCK=BLOCK)
