"""Reads and writes whole blocks, catches it if a simulator refuses that, and does it right then."""
# attacks: 01_vector_add
# stopped: correctness out_of_bounds | correctness stray_write

import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, x + tl.load(y_ptr + offsets, mask=inside), mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n, programs = out.numel(), triton.cdiv(out.numel(), 1024)
    try:
        add[(programs,)](x, y, out, 1024 * programs, BLOCK=1024)
    except Exception:
        add[(programs,)](x, y, out, n, BLOCK=1024)
