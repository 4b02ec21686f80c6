"""Two launches: full blocks without masks, then the rest of each row with one."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def full_blocks(gate_ptr, up_ptr, out_ptr, gate_stride, up_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + row * gate_stride + offsets).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, gate / (1.0 + tl.exp(-gate)) * up)


@triton.jit
def rests(
    gate_ptr,
    up_ptr,
    out_ptr,
    gate_stride,
    up_stride,
    out_stride,
    start,
    columns,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    offsets = start + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    silu = gate / (1.0 + tl.exp(-gate))
    tl.store(out_ptr + row * out_stride + offsets, silu * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    full = columns // BLOCK
    if full:
        full_blocks[(rows, full)](gate, up, out, *strides, BLOCK=BLOCK)
    if full * BLOCK < columns:
        rests[(rows,)](gate, up, out, *strides, full * BLOCK, columns, BLOCK=BLOCK)
