"""One helper draws, another drops and adds."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dropped(seed, program, p, BLOCK: tl.constexpr):
    a, b, c, d = tl.rand4x(seed, program * (BLOCK // 4) + tl.arange(0, BLOCK // 4))
    return tl.interleave(tl.interleave(a, c), tl.interleave(b, d)) < p


@triton.jit
def summed(x, residual, drop, p):
    return residual.to(tl.float32) + tl.where(drop, 0.0, x.to(tl.float32) / (1.0 - p))


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    residual = tl.load(residual_ptr + offsets, mask=offsets < n)
    drop = dropped(seed, block, p, BLOCK)
    tl.store(out_ptr + offsets, summed(x, residual, drop, p), mask=offsets < n)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
