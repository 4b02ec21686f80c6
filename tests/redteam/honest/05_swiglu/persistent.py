"""A fixed number of programs takes the blocks of all rows in turn."""

import torch
import triton
import triton.language as tl

BLOCK = 1024
PROGRAMS = 1056


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
    blocks = tl.cdiv(columns, BLOCK)
    for tile in range(tl.program_id(0), rows * blocks, tl.num_programs(0)):
        row = tl.cast(tile // blocks, tl.int64)
        offsets = (tile % blocks) * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < columns
        gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
        up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
        silu = gate / (1.0 + tl.exp(-gate))
        tl.store(out_ptr + row * out_stride + offsets, silu * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    programs = min(PROGRAMS, rows * triton.cdiv(columns, BLOCK))
    swiglu_kernel[(programs,)](gate, up, out, *strides, rows, columns, BLOCK=BLOCK)
