"""Ten rounds of Philox are written out, with products of 64 bits."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    c0, c1 = offsets & 0xFFFFFFFF, offsets >> 32
    c2, c3 = offsets * 0, offsets * 0
    k0, k1 = seed.to(tl.int64), seed.to(tl.int64) * 0
    for _ in tl.static_range(10):
        a = c0.to(tl.uint64) * 0xD2511F53
        b = c2.to(tl.uint64) * 0xCD9E8D57
        c0 = (b >> 32).to(tl.int64) ^ c1 ^ k0
        c2 = (a >> 32).to(tl.int64) ^ c3 ^ k1
        c1 = (b & 0xFFFFFFFF).to(tl.int64)
        c3 = (a & 0xFFFFFFFF).to(tl.int64)
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    numbers = c0.to(tl.float32) * 2.0**-32
    scaled = x * (1.0 / (1.0 - p))
    tl.store(out_ptr + offsets, residual + tl.where(numbers < p, 0.0, scaled), mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
