"""Even and odd elements are computed apart, and interleaved again for one store."""

import torch
import triton
import triton.language as tl

PAIRS = 512


@triton.jit
def mul_add_relu_kernel(x_ptr, y_ptr, scale, out_ptr, n, PAIRS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * (2 * PAIRS)
    even = start + 2 * tl.arange(0, PAIRS)
    odd = even + 1
    of_even = tl.load(x_ptr + even, mask=even < n) * scale + tl.load(y_ptr + even, mask=even < n)
    of_odd = tl.load(x_ptr + odd, mask=odd < n) * scale + tl.load(y_ptr + odd, mask=odd < n)
    total = tl.interleave(of_even, of_odd)
    offsets = start + tl.arange(0, 2 * PAIRS)
    relu = tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + offsets, relu, mask=offsets < n)


def mul_add_relu(x: torch.Tensor, y: torch.Tensor, scale: float, out: torch.Tensor) -> None:
    n = out.numel()
    mul_add_relu_kernel[(triton.cdiv(n, 2 * PAIRS),)](x, y, scale, out, n, PAIRS=PAIRS)
