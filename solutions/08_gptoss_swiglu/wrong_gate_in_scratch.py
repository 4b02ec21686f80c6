"""Stores the gate into a float32 tensor of its own: right, but that is scratch memory.

Rejected at: memory
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def gate_kernel(x_ptr, out_ptr, alpha, limit, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = lanes < n
    x = tl.load(x_ptr + lanes, mask=valid).to(tl.float32)
    x = tl.minimum(x, limit, propagate_nan=tl.PropagateNan.ALL)
    gated = x / (1.0 + tl.exp2((-alpha * LOG2_E) * x))
    tl.store(out_ptr + lanes, gated, mask=valid)


@triton.jit
def product_kernel(gate_ptr, y_ptr, out_ptr, limit, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = lanes < n
    gated = tl.load(gate_ptr + lanes, mask=valid).to(tl.float32)
    y = tl.load(y_ptr + lanes, mask=valid).to(tl.float32)
    y = tl.clamp(y, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + lanes, gated * y + gated, mask=valid)


def gptoss_swiglu(
    x: torch.Tensor, y: torch.Tensor, out: torch.Tensor, alpha: float, limit: float
) -> None:
    """Fills out with x * sigmoid(alpha * x) * (y + 1), x and y clamped: 1-D, of one dtype."""
    n = out.numel()
    grid = (triton.cdiv(n, BLOCK),)
    gate = torch.empty_like(out, dtype=torch.float32)
    gate_kernel[grid](x, gate, alpha, limit, n, BLOCK=BLOCK)
    product_kernel[grid](gate, y, out, limit, n, BLOCK=BLOCK)
