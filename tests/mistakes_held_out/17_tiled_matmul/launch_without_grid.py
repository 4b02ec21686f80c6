"""The kernel is called without a grid."""

import torch
import triton
import triton.language as tl

ROWS = 128
ROW_BYTES = 512
STEP_BYTES = 128
GROUP = 16
WARPS = 8
STAGES = 3


@triton.jit
def tile_of(program, tiles_down, tiles_across, GROUP: tl.constexpr):
    in_group = GROUP * tiles_across
    first = program // in_group * GROUP
    height = tl.minimum(tiles_down - first, GROUP)
    place = program % in_group
    return first + place % height, place // height


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    m,
    k,
    n,
    a_stride,
    b_stride,
    out_stride,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TERMS: tl.constexpr,
    GROUP: tl.constexpr,
):
    down, across = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    rows = (down * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    columns = (across * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)[None, :]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, TERMS):
        terms = start + tl.arange(0, TERMS)
        of_a, of_b = terms[None, :], terms.to(tl.int64)[:, None]
        in_a = (rows < m) & (of_a < k)
        in_b = (of_b < k) & (columns < n)
        left = tl.load(a_ptr + rows * a_stride + of_a, mask=in_a, other=0.0)
        right = tl.load(b_ptr + of_b * b_stride + columns, mask=in_b, other=0.0)
        sums = tl.dot(left, right, sums, input_precision="ieee")
    places = out_ptr + rows * out_stride + columns
    tl.store(places, sums.to(out_ptr.dtype.element_ty), mask=(rows < m) & (columns < n))


def tiled_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    columns, terms = ROW_BYTES // a.element_size(), STEP_BYTES // a.element_size()
    matmul_kernel(
        *(a, b, out, m, k, n, a.stride(0), b.stride(0), out.stride(0)),
        ROWS=ROWS,
        COLUMNS=columns,
        TERMS=terms,
        GROUP=GROUP,
        num_warps=WARPS,
        num_stages=STAGES,
    )
