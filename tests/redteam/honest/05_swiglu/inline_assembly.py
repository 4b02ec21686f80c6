"""Exponential and reciprocal are the approximate instructions of the GPU, in PTX."""

# GPU only: inline assembly is for a GPU's compiler alone.

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def swiglu_kernel(
    gate_ptr, up_ptr, out_ptr, gate_stride, up_stride, out_stride, columns, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    power = gate * -1.4426950408889634
    grown = tl.inline_asm_elementwise(
        "ex2.approx.f32 $0, $1;", "=f,f", [power], dtype=tl.float32, is_pure=True, pack=1
    )
    sigmoid = tl.inline_asm_elementwise(
        "rcp.approx.f32 $0, $1;", "=f,f", [1.0 + grown], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out_ptr + row * out_stride + offsets, gate * sigmoid * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    grid = (rows, triton.cdiv(columns, BLOCK))
    swiglu_kernel[grid](gate, up, out, *strides, columns, BLOCK=BLOCK)
