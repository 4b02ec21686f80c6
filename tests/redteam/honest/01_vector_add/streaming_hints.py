"""Cache hints for data that is used once, and the sum as a fused multiply-add with 1."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    offsets = tl.max_contiguous(tl.multiple_of(offsets, BLOCK), BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, eviction_policy="evict_first")
    y = tl.load(y_ptr + offsets, mask=inside, eviction_policy="evict_first")
    total = tl.fma(x.to(tl.float32), 1.0, y.to(tl.float32))
    tl.store(out_ptr + offsets, total, mask=inside, cache_modifier=".cs")


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    add_kernel[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK, num_warps=8)
