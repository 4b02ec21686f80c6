"""A hash of seed and place by multiplications and shifts takes the place of Philox."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def mixed(bits):
    bits = (bits ^ (bits >> 16)) * 0x7FEB352D
    bits = (bits ^ (bits >> 15)) * 0x846CA68B
    return bits ^ (bits >> 16)


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    low, high = offsets.to(tl.uint32), (offsets >> 32).to(tl.uint32)
    key = mixed(seed.to(tl.uint32) + 0x9E3779B9)
    bits = mixed(mixed(low ^ key) + high + key * 0x85EBCA6B)
    numbers = (bits >> 8).to(tl.float32) * 2.0**-24
    scaled = x * (1.0 / (1.0 - p))
    tl.store(out_ptr + offsets, residual + tl.where(numbers < p, 0.0, scaled), mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
