"""A fixed number of programs walks over the vectors, a stride of blocks apart."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        offsets = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
        residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
        kept = tl.where(tl.rand(seed, offsets) < p, 0.0, x / (1.0 - p))
        tl.store(out_ptr + offsets, residual + kept, mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = min(triton.cdiv(n, BLOCK), 264)
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
