"""Two launches: full blocks without masks, then the rest with one."""

import torch
import triton
import triton.language as tl

BLOCK = 2048
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def gptoss_swiglu_kernel(x_ptr, y_ptr, out_ptr, alpha, limit, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes).to(tl.float32)
    y = tl.load(y_ptr + lanes).to(tl.float32)
    x = tl.minimum(x, limit, propagate_nan=tl.PropagateNan.ALL)
    y = tl.clamp(y, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
    gated = x / (1.0 + tl.exp2((-alpha * LOG2_E) * x))
    tl.store(out_ptr + lanes, gated * y + gated)


@triton.jit
def rest_kernel(x_ptr, y_ptr, out_ptr, alpha, limit, start, n, BLOCK: tl.constexpr):
    lanes = start + tl.arange(0, BLOCK)
    valid = lanes < n
    x = tl.load(x_ptr + lanes, mask=valid).to(tl.float32)
    y = tl.load(y_ptr + lanes, mask=valid).to(tl.float32)
    x = tl.minimum(x, limit, propagate_nan=tl.PropagateNan.ALL)
    y = tl.clamp(y, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
    gated = x / (1.0 + tl.exp2((-alpha * LOG2_E) * x))
    tl.store(out_ptr + lanes, gated * y + gated, mask=valid)


def gptoss_swiglu(
    x: torch.Tensor, y: torch.Tensor, out: torch.Tensor, alpha: float, limit: float
) -> None:
    n = out.numel()
    full = n // BLOCK
    if full:
        gptoss_swiglu_kernel[(full,)](x, y, out, alpha, limit, BLOCK=BLOCK)
    if full * BLOCK < n:
        rest_kernel[(1,)](x, y, out, alpha, limit, full * BLOCK, n, BLOCK=BLOCK)
