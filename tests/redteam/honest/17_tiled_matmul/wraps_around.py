"""Rows and columns beyond the end wrap around to the start: they are loaded, and not stored."""

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
    row_of_a, column_of_b = rows % m, columns % n
    left_at = a_ptr + row_of_a * a_stride + tl.arange(0, TERMS)[None, :]
    right_at = b_ptr + tl.arange(0, TERMS)[:, None] * b_stride + column_of_b
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for step in range(tl.cdiv(k, TERMS)):
        terms = k - step * TERMS
        left = tl.load(left_at, mask=tl.arange(0, TERMS)[None, :] < terms, other=0.0)
        right = tl.load(right_at, mask=tl.arange(0, TERMS)[:, None] < terms, other=0.0)
        sums = tl.dot(left, right, sums, input_precision="ieee")
        left_at += TERMS
        right_at += TERMS * b_stride
    places = out_ptr + rows * out_stride + columns
    tl.store(places, sums.to(out_ptr.dtype.element_ty), mask=(rows < m) & (columns < n))


def tiled_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    columns, terms = ROW_BYTES // a.element_size(), STEP_BYTES // a.element_size()
    programs = triton.cdiv(m, ROWS) * triton.cdiv(n, columns)
    matmul_kernel[(programs,)](
        *(a, b, out, m, k, n, a.stride(0), b.stride(0), out.stride(0)),
        ROWS=ROWS,
        COLUMNS=columns,
        TERMS=terms,
        GROUP=GROUP,
        num_warps=WARPS,
        num_stages=STAGES,
    )
