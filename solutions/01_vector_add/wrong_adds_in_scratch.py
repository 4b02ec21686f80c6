"""torch adds into a tensor of its own, and the kernel only copies that: as much memory again.

Rejected at: memory
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024  # elements that one program adds; tl.arange asks for a power of two


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n  # false where the last block sticks out past the end
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with x + y: 1-D tensors of one length and one dtype."""
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)  # rounded up, so that the last block may be short
    total = x + y  # here: memory that the task does not need
    copy_kernel[(programs,)](total, out, n, BLOCK=BLOCK)
