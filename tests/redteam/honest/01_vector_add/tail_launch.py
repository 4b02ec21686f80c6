"""Two launches: full blocks without any mask, then one masked block for what is left."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def full_blocks(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + offsets).to(tl.float32) + tl.load(y_ptr + offsets).to(tl.float32)
    tl.store(out_ptr + offsets, total)


@triton.jit
def rest(x_ptr, y_ptr, out_ptr, start, n, BLOCK: tl.constexpr):
    offsets = start + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    y = tl.load(y_ptr + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    full = n // BLOCK
    if full > 0:
        full_blocks[(full,)](x, y, out, BLOCK=BLOCK)
    if n > full * BLOCK:
        rest[(1,)](x, y, out, full * BLOCK, n, BLOCK=BLOCK)
