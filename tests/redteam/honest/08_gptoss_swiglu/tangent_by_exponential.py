"""The sigmoid is half of 1 + tanh, and tanh comes from one exponential."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def gptoss_swiglu_kernel(x_ptr, y_ptr, out_ptr, alpha, limit, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = lanes < n
    x = tl.load(x_ptr + lanes, mask=valid).to(tl.float32)
    y = tl.load(y_ptr + lanes, mask=valid).to(tl.float32)
    x = tl.minimum(x, limit, propagate_nan=tl.PropagateNan.ALL)
    y = tl.clamp(y, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
    grown = tl.exp(alpha * x)
    tangent = 1.0 - 2.0 / (grown + 1.0)
    gated = 0.5 * x * (1.0 + tangent)
    tl.store(out_ptr + lanes, gated * y + gated, mask=valid)


def gptoss_swiglu(
    x: torch.Tensor, y: torch.Tensor, out: torch.Tensor, alpha: float, limit: float
) -> None:
    n = out.numel()
    grid = (triton.cdiv(n, BLOCK),)
    gptoss_swiglu_kernel[grid](x, y, out, alpha, limit, n, BLOCK=BLOCK)
