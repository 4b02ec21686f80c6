"""Each program has a tile of the output, and goes along the inner extent by tiles."""

import triton
import triton.language as tl


@triton.jit
def _product(
    a_ptr,
    b_ptr,
    out_ptr,
    rows,
    columns,
    a_stride,
    b_stride,
    out_stride,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    GROUP: tl.constexpr,
):
    # Programs that run at the same time have tiles of few rows and columns, which stay in the L2.
    program = tl.program_id(0)
    tiles_n = tl.cdiv(columns, N)
    group = program // (GROUP * tiles_n)
    size = tl.minimum(tl.cdiv(rows, M) - group * GROUP, GROUP)
    tile_m = group * GROUP + program % (GROUP * tiles_n) % size
    tile_n = program % (GROUP * tiles_n) // size
    m = (tile_m * M + tl.arange(0, M)).to(tl.int64)[:, None]
    n = (tile_n * N + tl.arange(0, N)).to(tl.int64)[None, :]
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, columns, K):
        k = start + tl.arange(0, K)
        a_mask, b_mask = (m < rows) & (k[None, :] < columns), (k[:, None] < columns) & (n < columns)
        a = tl.load(a_ptr + m * a_stride + k[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_stride + n, mask=b_mask, other=0.0)
        total = tl.dot(a, b, total)
    inside = (m < rows) & (n < columns)
    tl.store(out_ptr + m * out_stride + n, total.to(tl.bfloat16), mask=inside)


def product(a, b, out):
    rows, columns = a.shape
    grid = (triton.cdiv(rows, 128) * triton.cdiv(columns, 128),)
    _product[grid](
        a,
        b,
        out,
        rows,
        columns,
        a.stride(0),
        b.stride(0),
        out.stride(0),
        M=128,
        N=128,
        K=64,
        GROUP=8,
        num_warps=8,
        num_stages=3,
    )
