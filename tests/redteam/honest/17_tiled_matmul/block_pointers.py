"""Block pointers for the tiles, whose bounds they check."""

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
    first_row, first_column = down * ROWS, across * COLUMNS
    left_at = tl.make_block_ptr(a_ptr, (m, k), (a_stride, 1), (first_row, 0), (ROWS, TERMS), (1, 0))
    right_at = tl.make_block_ptr(
        b_ptr, (k, n), (b_stride, 1), (0, first_column), (TERMS, COLUMNS), (1, 0)
    )
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for _ in range(0, k, TERMS):
        left = tl.load(left_at, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(right_at, boundary_check=(0, 1), padding_option="zero")
        sums += tl.dot(left, right, input_precision="ieee")
        left_at = tl.advance(left_at, (0, TERMS))
        right_at = tl.advance(right_at, (TERMS, 0))
    out_at = tl.make_block_ptr(
        out_ptr, (m, n), (out_stride, 1), (first_row, first_column), (ROWS, COLUMNS), (1, 0)
    )
    tl.store(out_at, sums.to(out_ptr.dtype.element_ty), boundary_check=(0, 1))


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
