"""The product of two matrices, tile by tile, in an order that the L2 cache likes.

    out[i, j] = sum over p of a[i, p] * b[p, j]

Each program fills one tile of out. It goes along the terms of the sum, a tile of a and a tile of b
at a time, and adds up their products in float32. The tiles of programs that run at the same time
lie close together, so that they need the same rows of a and the same columns of b.
"""

import torch
import triton
import triton.language as tl

ROWS = 128  # rows of a tile of out
ROW_BYTES = 512  # of a row of that tile: 256 columns of 16 bits, or 128 of float32
STEP_BYTES = 128  # of a row of a that is loaded at a time: 64 terms of 16 bits, or 32 of float32
GROUP = 16  # rows of tiles that are filled side by side
WARPS = 8  # groups of 32 threads that share one program's work
STAGES = 3  # pairs of tiles that are on their way, or in use, at the same time


@triton.jit
def tile_of(program, tiles_down, tiles_across, GROUP: tl.constexpr):
    """Return which tile a program fills: its place from the top, and its place from the left."""
    # BEGIN SOLUTION: go down GROUP rows of tiles, then to the right; the last group may be lower
    in_group = GROUP * tiles_across
    first = program // in_group * GROUP
    height = tl.minimum(tiles_down - first, GROUP)
    place = program % in_group
    return first + place % height, place // height
    # END SOLUTION


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
    """Fill a tile of ROWS rows and COLUMNS columns of out, TERMS terms of each sum at a time.

    `a` is (m, k), b is (k, n) and out is (m, n). The strides are in elements, from row to row.
    """
    down, across = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    rows = (down * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    columns = (across * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)[None, :]
    # BEGIN SOLUTION: add up the products of tiles along the terms, in float32; store the sums once
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, TERMS):
        terms = start + tl.arange(0, TERMS)
        of_a, of_b = terms[None, :], terms.to(tl.int64)[:, None]
        in_a = (rows < m) & (of_a < k)
        in_b = (of_b < k) & (columns < n)
        left = tl.load(a_ptr + rows * a_stride + of_a, mask=in_a, other=0.0)
        right = tl.load(b_ptr + of_b * b_stride + columns, mask=in_b, other=0.0)
        # Without "ieee" a GPU multiplies float32 with the 10 bits of TF32.
        sums = tl.dot(left, right, sums, input_precision="ieee")
    places = out_ptr + rows * out_stride + columns
    tl.store(places, sums.to(out_ptr.dtype.element_ty), mask=(rows < m) & (columns < n))
    # END SOLUTION


def tiled_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with the product of `a` and `b`.

    a is (m, k), b is (k, n) and out is (m, n), of one dtype: float32, float16 or bfloat16. Rows may
    be further apart than they are long, by another number in each of the three.
    """
    (m, k), n = a.shape, b.shape[1]
    columns, terms = ROW_BYTES // a.element_size(), STEP_BYTES // a.element_size()
    # BEGIN SOLUTION: launch a program for each tile of out
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
    # END SOLUTION
