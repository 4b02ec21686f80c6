"""A fixed number of programs, each of which walks over the vector in steps of the whole grid."""

import torch
import triton
import triton.language as tl

BLOCK = 1024
PROGRAMS = 1056


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, step, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
        y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
        tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    programs = min(PROGRAMS, triton.cdiv(n, BLOCK))
    add_kernel[(programs,)](x, y, out, n, programs * BLOCK, BLOCK=BLOCK)
