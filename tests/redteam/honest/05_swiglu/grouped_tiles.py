"""Tiles in the grouped order of the matrix product in Triton's tutorial, by `tl.swizzle2d`."""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS, GROUP = 4, 512, 8


@triton.jit
def swiglu_kernel(
    gate_ptr,
    up_ptr,
    out_ptr,
    gate_stride,
    up_stride,
    out_stride,
    rows,
    columns,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    GROUP: tl.constexpr,
):
    down, across = tl.cdiv(rows, ROWS), tl.cdiv(columns, COLUMNS)
    pid = tl.program_id(0)
    tile_row, tile_column = tl.swizzle2d(pid // across, pid % across, down, across, GROUP)
    row = (tile_row.to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tile_column * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    inside = (row < rows) & (column < columns)
    gate = tl.load(gate_ptr + row * gate_stride + column, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + column, mask=inside).to(tl.float32)
    tl.store(out_ptr + row * out_stride + column, gate * tl.sigmoid(gate) * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    tiles = triton.cdiv(rows, ROWS) * triton.cdiv(columns, COLUMNS)
    swiglu_kernel[(tiles,)](
        gate, up, out, *strides, rows, columns, ROWS=ROWS, COLUMNS=COLUMNS, GROUP=GROUP
    )
