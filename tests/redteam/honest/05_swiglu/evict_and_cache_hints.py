"""Loads are hinted as used once, the store as streaming."""

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
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate_row = gate_ptr + row * gate_stride
    gate = tl.load(gate_row + offsets, mask=inside, eviction_policy="evict_first")
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside, cache_modifier=".cg")
    gate = gate.to(tl.float32)
    silu = gate / (1.0 + tl.exp(-gate))
    tl.store(out_ptr + row * out_stride + offsets, silu * up, mask=inside, cache_modifier=".cs")


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    swiglu_kernel[(rows, triton.cdiv(columns, BLOCK))](
        gate, up, out, *strides, columns, BLOCK=BLOCK
    )
