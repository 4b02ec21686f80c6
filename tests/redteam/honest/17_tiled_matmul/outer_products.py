"""No tl.dot: for each term a column of a times a row of b, in tiles of 64 x 64."""

import torch
import triton
import triton.language as tl

TILE = 64


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, out_ptr, m, k, n, a_stride, b_stride, out_stride, TILE: tl.constexpr
):
    rows = (tl.program_id(0) * TILE + tl.arange(0, TILE)).to(tl.int64)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    sums = tl.zeros((TILE, TILE), tl.float32)
    for term in range(k):
        left = tl.load(a_ptr + rows * a_stride + term, mask=rows < m, other=0.0)
        right = tl.load(b_ptr + columns, mask=columns < n, other=0.0)
        sums += left.to(tl.float32)[:, None] * right.to(tl.float32)[None, :]
        b_ptr += b_stride
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(out_ptr + rows[:, None] * out_stride + columns[None, :], sums, mask=inside)


def tiled_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, TILE), triton.cdiv(n, TILE))
    matmul_kernel[grid](a, b, out, m, k, n, a.stride(0), b.stride(0), out.stride(0), TILE=TILE)
