import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    sine = tl.sin(x)
    tl.store(sin_ptr + offsets, sine, mask=inside)
    tl.store(cos_ptr + offsets, 1.0 - sine, mask=inside)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    sin_cos_kernel[(triton.cdiv(n, BLOCK),)](x, sin_out, cos_out, n, BLOCK=BLOCK)
