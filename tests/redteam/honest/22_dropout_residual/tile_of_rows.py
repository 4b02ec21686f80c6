"""Each program has a tile of eight rows of 256 elements."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, 8)[:, None], tl.arange(0, BLOCK // 8)[None, :]
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + rows * (BLOCK // 8) + columns
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    dropped = tl.rand(seed, offsets) < p
    tl.store(out_ptr + offsets, tl.where(dropped, residual, residual + x / (1.0 - p)), mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
