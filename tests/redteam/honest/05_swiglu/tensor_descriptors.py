"""Tensor descriptors for gate and up where rows are aligned, pointers where they are not."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BLOCK = 256


@triton.jit
def described(gate_desc, up_desc, out_ptr, out_stride, columns, BLOCK: tl.constexpr):
    row, start = tl.program_id(0), tl.program_id(1) * BLOCK
    gate = tl.reshape(gate_desc.load([row, start]), (BLOCK,)).to(tl.float32)
    up = tl.reshape(up_desc.load([row, start]), (BLOCK,)).to(tl.float32)
    offsets = start + tl.arange(0, BLOCK)
    at = out_ptr + tl.cast(row, tl.int64) * out_stride + offsets
    tl.store(at, gate / (1.0 + tl.exp(-gate)) * up, mask=offsets < columns)


@triton.jit
def plain(
    gate_ptr, up_ptr, out_ptr, gate_stride, up_stride, out_stride, columns, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    silu = gate / (1.0 + tl.exp(-gate))
    tl.store(out_ptr + row * out_stride + offsets, silu * up, mask=inside)


def aligned(tensor: torch.Tensor) -> bool:
    row_bytes = tensor.stride(0) * tensor.element_size()
    return tensor.data_ptr() % 16 == 0 and row_bytes % 16 == 0


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    if aligned(gate) and aligned(up):
        grid = (rows, triton.cdiv(columns, BLOCK))
        boxes = [TensorDescriptor.from_tensor(tensor, [1, BLOCK]) for tensor in (gate, up)]
        described[grid](*boxes, out, out.stride(0), columns, BLOCK=BLOCK)
    else:
        strides = gate.stride(0), up.stride(0), out.stride(0)
        grid = (rows, triton.cdiv(columns, 1024))
        plain[grid](gate, up, out, *strides, columns, BLOCK=1024)
