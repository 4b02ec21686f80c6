"""Gives each program a row of out: all of b is read again for each row.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def matmul_kernel(a_ptr, b_ptr, out_ptr, k, n, a_stride, b_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < n
    sums = tl.zeros((BLOCK,), tl.float32)
    for term in range(k):
        left = tl.load(a_ptr + row * a_stride + term).to(tl.float32)
        place = tl.cast(term, tl.int64) * b_stride
        right = tl.load(b_ptr + place + columns, mask=inside).to(tl.float32)
        sums += left * right
    tl.store(out_ptr + row * out_stride + columns, sums, mask=inside)


def tiled_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    grid = (m, triton.cdiv(n, BLOCK))
    matmul_kernel[grid](a, b, out, k, n, a.stride(0), b.stride(0), out.stride(0), BLOCK=BLOCK)
