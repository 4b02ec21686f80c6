"""A loop over a row that loads the next block before it computes the present one."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def swiglu_kernel(
    gate_ptr, up_ptr, out_ptr, gate_stride, up_stride, out_stride, columns, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    gate_row = gate_ptr + row * gate_stride
    up_row = up_ptr + row * up_stride
    offsets = tl.arange(0, BLOCK)
    gate = tl.load(gate_row + offsets, mask=offsets < columns)
    up = tl.load(up_row + offsets, mask=offsets < columns)
    for _ in range(0, columns, BLOCK):
        following = offsets + BLOCK
        next_gate = tl.load(gate_row + following, mask=following < columns)
        next_up = tl.load(up_row + following, mask=following < columns)
        wide = gate.to(tl.float32)
        y = wide / (1.0 + tl.exp(-wide)) * up.to(tl.float32)
        tl.store(out_ptr + row * out_stride + offsets, y, mask=offsets < columns)
        gate, up, offsets = next_gate, next_up, following


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    swiglu_kernel[(rows,)](gate, up, out, *strides, columns, BLOCK=BLOCK)
