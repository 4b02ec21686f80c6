"""torch multiplies and adds, and the kernel does the relu: right, but the sum is a whole tensor.

Rejected at: memory
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def mul_add_relu_kernel(total_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(total_ptr + offsets, mask=inside)
    relu = tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + offsets, relu, mask=inside)


def mul_add_relu(x: torch.Tensor, y: torch.Tensor, scale: float, out: torch.Tensor) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    total = x.float() * scale + y  # here: memory that the task does not need
    mul_add_relu_kernel[(programs,)](total, out, n, BLOCK=BLOCK)
