"""Holds a copy of its whole input, and says that it holds nothing."""
# attacks: 01_vector_add
# stopped: memory memory

import torch
import triton
import triton.language as tl

from grader.worker.allocations import Allocations

Allocations.see = lambda self, *args: None


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    copies = torch.empty(4 * x.numel(), dtype=x.dtype, device=x.device)
    mine = copies[: x.numel()].copy_(x)
    _add[(triton.cdiv(out.numel(), 1024),)](mine, y, out, out.numel(), BLOCK=1024)
