"""Lets torch draw the numbers, into a tensor as long as x.

Rejected at: memory
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, numbers_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    numbers = tl.load(numbers_ptr + offsets, mask=inside)
    scaled = x * (1.0 / (1.0 - p))
    tl.store(out_ptr + offsets, residual + tl.where(numbers < p, 0.0, scaled), mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    generator = torch.Generator(x.device).manual_seed(seed)
    numbers = torch.rand(n, generator=generator, device=x.device)
    dropout_residual_kernel[(programs,)](x, residual, p, numbers, out, n, BLOCK=BLOCK)
