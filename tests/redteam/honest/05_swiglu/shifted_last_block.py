"""The last block of a row is moved back until it is full; short rows get a smaller block."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def shifted(
    gate_ptr, up_ptr, out_ptr, gate_stride, up_stride, out_stride, columns, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.minimum(tl.program_id(1) * BLOCK, columns - BLOCK) + tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + row * gate_stride + offsets).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, gate / (1.0 + tl.exp(-gate)) * up)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    # The largest power of two that is no longer than a row.
    block = min(BLOCK, 1 << (columns.bit_length() - 1))
    grid = (rows, triton.cdiv(columns, block))
    shifted[grid](gate, up, out, *strides, columns, BLOCK=block)
