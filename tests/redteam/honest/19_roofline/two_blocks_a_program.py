"""Two blocks a program, which share each load of a coefficient."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def polynomial_kernel(x_ptr, c_ptr, out_ptr, n, degree, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * 2 * BLOCK + tl.arange(0, BLOCK)
    second = first + BLOCK
    x = tl.load(x_ptr + first, mask=first < n)
    y = tl.load(x_ptr + second, mask=second < n)
    total = tl.zeros((BLOCK,), tl.float32)
    other = tl.zeros((BLOCK,), tl.float32)
    for i in range(degree, -1, -1):
        coefficient = tl.load(c_ptr + i)
        total = total * x + coefficient
        other = other * y + coefficient
    tl.store(out_ptr + first, total, mask=first < n)
    tl.store(out_ptr + second, other, mask=second < n)


def polynomial(x: torch.Tensor, c: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()
    grid = (triton.cdiv(n, 2 * BLOCK),)
    polynomial_kernel[grid](x, c, out, n, c.numel() - 1, BLOCK=BLOCK)
