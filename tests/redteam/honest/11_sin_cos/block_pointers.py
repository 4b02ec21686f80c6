"""Block pointers check the end of each tensor."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def block_of(ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    return tl.make_block_ptr(ptr, (n,), (1,), (start,), (BLOCK,), (0,))


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(block_of(x_ptr, n, BLOCK), boundary_check=(0,)).to(tl.float32)
    sin = tl.sin(x).to(sin_ptr.dtype.element_ty)
    cos = tl.cos(x).to(cos_ptr.dtype.element_ty)
    tl.store(block_of(sin_ptr, n, BLOCK), sin, boundary_check=(0,))
    tl.store(block_of(cos_ptr, n, BLOCK), cos, boundary_check=(0,))


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    sin_cos_kernel[(triton.cdiv(n, BLOCK),)](x, sin_out, cos_out, n, BLOCK=BLOCK)
