import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    numbers = torch.rand(BLOCK)
    scaled = x * (1.0 / (1.0 - p))
    tl.store(out_ptr + offsets, residual + tl.where(numbers < p, 0.0, scaled), mask=inside)


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
