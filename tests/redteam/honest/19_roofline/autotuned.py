"""Blocks and warps by measurement."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block}, num_warps=warps)
        for block, warps in ((512, 4), (1024, 4), (2048, 4), (4096, 8))
    ],
    key=["n", "degree"],
)
@triton.jit
def polynomial_kernel(x_ptr, c_ptr, out_ptr, n, degree, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(degree, -1, -1, loop_unroll_factor=8):
        total = total * x + tl.load(c_ptr + i)
    tl.store(out_ptr + offsets, total, mask=inside)


def polynomial(x: torch.Tensor, c: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()

    def grid(config):
        return (triton.cdiv(n, config["BLOCK"]),)

    polynomial_kernel[grid](x, c, out, n, c.numel() - 1)
