"""Whole blocks in a launch without masks, and the rest in a second one with a mask."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def mul_add_relu_kernel(
    x_ptr, y_ptr, scale, out_ptr, start, n, BLOCK: tl.constexpr, MASKED: tl.constexpr
):
    offsets = start + tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n if MASKED else None
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
    relu = tl.maximum(x * scale + y, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + offsets, relu, mask=inside)


def mul_add_relu(x: torch.Tensor, y: torch.Tensor, scale: float, out: torch.Tensor) -> None:
    n = out.numel()
    whole = n // BLOCK
    if whole:
        mul_add_relu_kernel[(whole,)](x, y, scale, out, 0, n, BLOCK=BLOCK, MASKED=False)
    if n % BLOCK:
        mul_add_relu_kernel[(1,)](x, y, scale, out, whole * BLOCK, n, BLOCK=BLOCK, MASKED=True)
