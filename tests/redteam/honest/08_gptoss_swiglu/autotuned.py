"""Block size and warps are chosen by Triton's autotuner at the first call of each dtype."""

import torch
import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
        triton.Config({"BLOCK": 4096}, num_warps=8),
    ],
    key=[],
)
@triton.jit
def gptoss_swiglu_kernel(x_ptr, y_ptr, out_ptr, alpha, limit, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
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

    def grid(meta):
        return (triton.cdiv(n, meta["BLOCK"]),)

    gptoss_swiglu_kernel[grid](x, y, out, alpha, limit, n)
