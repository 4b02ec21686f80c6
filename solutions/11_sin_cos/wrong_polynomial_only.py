"""A polynomial without a reduction: right near 0, and wrong further away.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    square = x * x
    sin = x * (1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)))
    cos = 1.0 - square * (0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0 - square / 40320.0)))
    tl.store(sin_ptr + offsets, sin, mask=inside)
    tl.store(cos_ptr + offsets, cos, mask=inside)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    sin_cos_kernel[(triton.cdiv(n, BLOCK),)](x, sin_out, cos_out, n, BLOCK=BLOCK)
