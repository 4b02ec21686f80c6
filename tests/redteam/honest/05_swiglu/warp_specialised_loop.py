"""A loop over the blocks of a row, pipelined and flattened by hints."""

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
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    for start in tl.range(0, columns, BLOCK, num_stages=3, loop_unroll_factor=2):
        offsets = start + lanes
        inside = offsets < columns
        gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
        up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
        result = gate / (1.0 + tl.exp(-gate)) * up
        tl.store(out_ptr + row * out_stride + offsets, result, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    swiglu_kernel[(rows,)](gate, up, out, *strides, columns, BLOCK=BLOCK)
