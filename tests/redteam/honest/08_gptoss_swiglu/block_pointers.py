"""Block pointers with a boundary check take the place of offsets and mask."""

import torch
import triton
import triton.language as tl

BLOCK = 2048
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def gptoss_swiglu_kernel(x_ptr, y_ptr, out_ptr, alpha, limit, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    x_block = tl.make_block_ptr(x_ptr, (n,), (1,), (first,), (BLOCK,), (0,))
    y_block = tl.make_block_ptr(y_ptr, (n,), (1,), (first,), (BLOCK,), (0,))
    out_block = tl.make_block_ptr(out_ptr, (n,), (1,), (first,), (BLOCK,), (0,))
    x = tl.load(x_block, boundary_check=(0,)).to(tl.float32)
    y = tl.load(y_block, boundary_check=(0,)).to(tl.float32)
    x = tl.minimum(x, limit, propagate_nan=tl.PropagateNan.ALL)
    y = tl.clamp(y, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
    gated = x / (1.0 + tl.exp2((-alpha * LOG2_E) * x))
    result = (gated * y + gated).to(out_ptr.dtype.element_ty)
    tl.store(out_block, result, boundary_check=(0,))


def gptoss_swiglu(
    x: torch.Tensor, y: torch.Tensor, out: torch.Tensor, alpha: float, limit: float
) -> None:
    n = out.numel()
    grid = (triton.cdiv(n, BLOCK),)
    gptoss_swiglu_kernel[grid](x, y, out, alpha, limit, n, BLOCK=BLOCK)
