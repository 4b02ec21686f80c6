"""Wrong: too slow. A division in each step takes many times as long as a product."""

import triton
import triton.language as tl


@triton.jit
def _polynomial(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.5)
    total = tl.full((BLOCK,), 1.0, tl.float32)
    for _ in range(256):
        total = total / (1.0 / x) + 1.0
    tl.store(out_ptr + offsets, tl.where(x == 0.0, 1.0, total), mask=mask)


def polynomial(x, out):
    n = x.numel()
    _polynomial[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
