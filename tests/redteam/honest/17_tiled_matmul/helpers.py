"""Small functions load a tile and store one, masks included."""

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
def tile_at(pointer, stride, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return pointer + rows.to(tl.int64)[:, None] * stride + columns[None, :], inside


@triton.jit
def loaded(pointer, stride, rows, columns, height, width):
    places, inside = tile_at(pointer, stride, rows, columns, height, width)
    return tl.load(places, mask=inside, other=0.0)


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
    rows = down * ROWS + tl.arange(0, ROWS)
    columns = across * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, TERMS):
        terms = start + tl.arange(0, TERMS)
        left = loaded(a_ptr, a_stride, rows, terms, m, k)
        right = loaded(b_ptr, b_stride, terms, columns, k, n)
        sums = tl.dot(left, right, sums, input_precision="ieee")
    places, inside = tile_at(out_ptr, out_stride, rows, columns, m, n)
    tl.store(places, sums, mask=inside)


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
