"""A tile of four rows is addressed by two index vectors."""

import torch
import triton
import triton.language as tl

BLOCK = 256


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
    BLOCK: tl.constexpr,
):
    rows_here = tl.program_id(0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (rows_here < rows) & (offsets < columns)
    gate = tl.load(gate_ptr + rows_here * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + rows_here * up_stride + offsets, mask=inside).to(tl.float32)
    silu = gate * tl.fdiv(1.0, 1.0 + tl.exp(-gate))
    tl.store(out_ptr + rows_here * out_stride + offsets, silu * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    swiglu_kernel[(triton.cdiv(rows, 4), triton.cdiv(columns, BLOCK))](
        gate, up, out, *strides, rows, columns, BLOCK=BLOCK
    )
