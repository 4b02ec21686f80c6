"""Each program computes two neighbouring blocks, and loads both before it computes."""

import torch
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * (2 * BLOCK) + tl.arange(0, BLOCK)
    second = first + BLOCK
    a = tl.load(x_ptr + first, mask=first < n).to(tl.float32)
    b = tl.load(x_ptr + second, mask=second < n).to(tl.float32)
    tl.store(sin_ptr + first, tl.sin(a), mask=first < n)
    tl.store(cos_ptr + first, tl.cos(a), mask=first < n)
    tl.store(sin_ptr + second, tl.sin(b), mask=second < n)
    tl.store(cos_ptr + second, tl.cos(b), mask=second < n)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    sin_cos_kernel[(triton.cdiv(n, 2 * BLOCK),)](x, sin_out, cos_out, n, BLOCK=BLOCK)
