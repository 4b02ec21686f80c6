"""Four blocks of a program take one of the four numbers of a counter each."""

import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def apply(x_ptr, residual_ptr, out_ptr, offsets, n, numbers, p, scale):
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, residual + tl.where(numbers < p, 0.0, x * scale), mask=inside)


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    program, lanes = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    first, second, third, fourth = tl.rand4x(seed, program * BLOCK + lanes)
    offsets = program * (4 * BLOCK) + lanes
    scale = 1.0 / (1.0 - p)
    apply(x_ptr, residual_ptr, out_ptr, offsets, n, first, p, scale)
    apply(x_ptr, residual_ptr, out_ptr, offsets + BLOCK, n, second, p, scale)
    apply(x_ptr, residual_ptr, out_ptr, offsets + 2 * BLOCK, n, third, p, scale)
    apply(x_ptr, residual_ptr, out_ptr, offsets + 3 * BLOCK, n, fourth, p, scale)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = triton.cdiv(n, 4 * BLOCK)
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
