"""Liger-Kernel's two forward kernels, from its package: a row in one block, and rows in tiles."""

# Needs: liger_kernel

import torch
import triton
from liger_kernel.ops.swiglu import _swiglu_forward_kernel, _swiglu_forward_kernel_tiled
from liger_kernel.ops.utils import calculate_settings

WIDEST = 65536  # columns that calculate_settings takes
TILE = 1024


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    stride = out.stride(0)
    if not gate.stride(0) == up.stride(0) == stride:
        # The kernels take one stride for all three tensors: these have one each.
        for row in range(rows):
            in_tiles(gate[row], up[row], out[row], 1, 0, columns)
    elif columns > WIDEST:
        in_tiles(gate, up, out, rows, stride, columns)
    else:
        block, warps = calculate_settings(columns)
        _swiglu_forward_kernel[(rows,)](
            gate, up, out, stride, 1.0, n_cols=columns, BLOCK_SIZE=block, num_warps=warps
        )


def in_tiles(
    gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor, rows: int, stride: int, columns: int
) -> None:
    _swiglu_forward_kernel_tiled[(rows, triton.cdiv(columns, TILE))](
        gate, up, out, stride, 1.0, columns, BLOCK_SIZE=TILE, num_warps=4
    )
