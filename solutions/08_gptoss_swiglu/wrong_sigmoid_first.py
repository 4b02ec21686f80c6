"""Stores the sigmoid in one launch and multiplies in another: right, but x is read twice.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def sigmoid_kernel(x_ptr, out_ptr, alpha, limit, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = lanes < n
    x = tl.load(x_ptr + lanes, mask=valid).to(tl.float32)
    x = tl.minimum(x, limit, propagate_nan=tl.PropagateNan.ALL)
    sigmoid = 1.0 / (1.0 + tl.exp2((-alpha * LOG2_E) * x))
    tl.store(out_ptr + lanes, sigmoid, mask=valid)


@triton.jit
def product_kernel(x_ptr, y_ptr, sigmoid_ptr, out_ptr, limit, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = lanes < n
    x = tl.load(x_ptr + lanes, mask=valid).to(tl.float32)
    y = tl.load(y_ptr + lanes, mask=valid).to(tl.float32)
    x = tl.minimum(x, limit, propagate_nan=tl.PropagateNan.ALL)
    gated = x * tl.load(sigmoid_ptr + lanes, mask=valid)
    y = tl.clamp(y, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + lanes, gated * y + gated, mask=valid)


def gptoss_swiglu(
    x: torch.Tensor, y: torch.Tensor, out: torch.Tensor, alpha: float, limit: float
) -> None:
    """Fills out with x * sigmoid(alpha * x) * (y + 1), x and y clamped: 1-D, of one dtype."""
    n = out.numel()
    grid = (triton.cdiv(n, BLOCK),)
    sigmoid = torch.empty_like(out, dtype=torch.float32)
    sigmoid_kernel[grid](x, sigmoid, alpha, limit, n, BLOCK=BLOCK)
    product_kernel[grid](x, y, sigmoid, out, limit, n, BLOCK=BLOCK)
