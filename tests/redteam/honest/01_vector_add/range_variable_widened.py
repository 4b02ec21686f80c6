"""Each program adds four blocks; the variable of `range` is widened to 64 bits."""

import torch
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first = tl.program_id(0) * 4
    for block in range(first, first + 4):
        offsets = block.to(tl.int64) * BLOCK + lanes
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
        y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
        tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    add_kernel[(triton.cdiv(n, 4 * BLOCK),)](x, y, out, n, BLOCK=BLOCK)
