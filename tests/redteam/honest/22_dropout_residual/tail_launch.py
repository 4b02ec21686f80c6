"""Full blocks need no mask; a second launch does what is left."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dropout_residual_kernel(
    x_ptr, residual_ptr, p, seed, out_ptr, first, n, BLOCK: tl.constexpr, MASKED: tl.constexpr
):
    offsets = first + tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n if MASKED else None
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    kept = tl.where(tl.rand(seed, offsets) < p, 0.0, x / (1.0 - p))
    tl.store(out_ptr + offsets, residual + kept, mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    full = n // BLOCK
    if full:
        dropout_residual_kernel[(full,)](x, residual, p, seed, out, 0, n, BLOCK=BLOCK, MASKED=False)
    if n % BLOCK:
        dropout_residual_kernel[(1,)](
            x, residual, p, seed, out, full * BLOCK, n, BLOCK=BLOCK, MASKED=True
        )
