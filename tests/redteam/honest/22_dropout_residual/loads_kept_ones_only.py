"""The mask of the load leaves out the elements of x that are dropped."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    kept = tl.rand(seed, offsets) >= p
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    x = tl.load(x_ptr + offsets, mask=inside & kept, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, residual + x / (1.0 - p), mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
