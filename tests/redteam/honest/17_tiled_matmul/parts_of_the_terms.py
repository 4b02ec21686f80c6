"""Several programs share the terms of a tile where out has few; a second launch adds their sums."""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS, TERMS = 64, 64, 32
PROGRAMS = 132


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    parts_ptr,
    m,
    k,
    n,
    a_stride,
    b_stride,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TERMS: tl.constexpr,
    PARTS: tl.constexpr,
):
    across_all = tl.cdiv(n, COLUMNS)
    tile = tl.program_id(0)
    down, across = tile // across_all, tile % across_all
    rows = (down * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    columns = (across * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)[None, :]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(tl.program_id(1) * TERMS, k, PARTS * TERMS):
        terms = start + tl.arange(0, TERMS)
        of_a, of_b = terms[None, :], terms.to(tl.int64)[:, None]
        in_a = (rows < m) & (of_a < k)
        in_b = (of_b < k) & (columns < n)
        left = tl.load(a_ptr + rows * a_stride + of_a, mask=in_a, other=0.0)
        right = tl.load(b_ptr + of_b * b_stride + columns, mask=in_b, other=0.0)
        sums = tl.dot(left, right, sums, input_precision="ieee")
    i = tl.arange(0, ROWS)[:, None]
    j = tl.arange(0, COLUMNS)[None, :]
    part = tile * PARTS + tl.program_id(1)
    tl.store(parts_ptr + part * (ROWS * COLUMNS) + i * COLUMNS + j, sums)


@triton.jit
def add_parts_kernel(
    parts_ptr,
    out_ptr,
    m,
    n,
    out_stride,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PARTS: tl.constexpr,
):
    across_all = tl.cdiv(n, COLUMNS)
    tile = tl.program_id(0)
    i = tl.arange(0, ROWS)[:, None]
    j = tl.arange(0, COLUMNS)[None, :]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for part in range(PARTS):
        first = (tile * PARTS + part) * (ROWS * COLUMNS)
        sums += tl.load(parts_ptr + first + i * COLUMNS + j)
    rows = (tile // across_all * ROWS + i).to(tl.int64)
    columns = tile % across_all * COLUMNS + j
    tl.store(out_ptr + rows * out_stride + columns, sums, mask=(rows < m) & (columns < n))


@triton.jit
def whole_kernel(
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
):
    down, across = tl.program_id(0), tl.program_id(1)
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
    tiles = triton.cdiv(m, ROWS) * triton.cdiv(n, COLUMNS)
    if 2 * tiles > PROGRAMS:
        whole_kernel[(triton.cdiv(m, ROWS), triton.cdiv(n, COLUMNS))](
            *(a, b, out, m, k, n, a.stride(0), b.stride(0), out.stride(0)),
            ROWS=ROWS,
            COLUMNS=COLUMNS,
            TERMS=TERMS,
        )
        return
    parts = PROGRAMS // tiles
    # Of one size for all outputs.
    sums = torch.empty(PROGRAMS * ROWS * COLUMNS, dtype=torch.float32, device=a.device)
    matmul_kernel[(tiles, parts)](
        *(a, b, sums, m, k, n, a.stride(0), b.stride(0)),
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        TERMS=TERMS,
        PARTS=parts,
    )
    add_parts_kernel[(tiles,)](
        *(sums, out, m, n, out.stride(0)), ROWS=ROWS, COLUMNS=COLUMNS, PARTS=parts
    )
