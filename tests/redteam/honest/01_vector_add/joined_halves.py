"""Two halves of a block are joined, added as one tile, and split again."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK // 2)
    low = tl.program_id(0).to(tl.int64) * BLOCK + lanes
    high = low + BLOCK // 2
    a = tl.load(x_ptr + low, mask=low < n).to(tl.float32)
    b = tl.load(x_ptr + high, mask=high < n).to(tl.float32)
    c = tl.load(y_ptr + low, mask=low < n).to(tl.float32)
    d = tl.load(y_ptr + high, mask=high < n).to(tl.float32)
    first, second = tl.split(tl.join(a, b) + tl.join(c, d))
    tl.store(out_ptr + low, first, mask=low < n)
    tl.store(out_ptr + high, second, mask=high < n)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    add_kernel[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)
