"""A polynomial of each element, by Horner's rule."""

import triton
import triton.language as tl


@triton.jit
def _polynomial(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    total = tl.full((BLOCK,), 1.0, tl.float32)
    for _ in range(256):
        total = total * x + 1.0
    tl.store(out_ptr + offsets, total, mask=mask)


def polynomial(x, out):
    n = x.numel()
    _polynomial[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
