"""One axis of programs: row and block come from a division of 64-bit numbers."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def swiglu_kernel(
    gate_ptr,
    up_ptr,
    out_ptr,
    gate_stride,
    up_stride,
    out_stride,
    columns,
    BLOCK: tl.constexpr,
):
    blocks = tl.cdiv(columns, BLOCK)
    program = tl.program_id(0).to(tl.int64)
    row = program // blocks
    offsets = (program % blocks).to(tl.int32) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside, other=0).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside, other=0).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, gate / (1.0 + tl.exp(-gate)) * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    swiglu_kernel[(rows * triton.cdiv(columns, BLOCK),)](
        gate, up, out, *strides, columns, BLOCK=BLOCK
    )
