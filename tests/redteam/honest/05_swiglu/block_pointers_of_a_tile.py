"""Block pointers of two axes move along the row in a loop."""

import torch
import triton
import triton.language as tl

BLOCK = 512


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
    first = tl.program_id(0) * 2
    shape = (rows, columns)
    gates = tl.make_block_ptr(gate_ptr, shape, (gate_stride, 1), (first, 0), (2, BLOCK), (1, 0))
    ups = tl.make_block_ptr(up_ptr, shape, (up_stride, 1), (first, 0), (2, BLOCK), (1, 0))
    outs = tl.make_block_ptr(out_ptr, shape, (out_stride, 1), (first, 0), (2, BLOCK), (1, 0))
    for _ in range(0, columns, BLOCK):
        gate = tl.load(gates, boundary_check=(0, 1)).to(tl.float32)
        up = tl.load(ups, boundary_check=(0, 1)).to(tl.float32)
        result = gate / (1.0 + tl.exp(-gate)) * up
        tl.store(outs, result.to(out_ptr.dtype.element_ty), boundary_check=(0, 1))
        gates = tl.advance(gates, (0, BLOCK))
        ups = tl.advance(ups, (0, BLOCK))
        outs = tl.advance(outs, (0, BLOCK))


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    swiglu_kernel[(triton.cdiv(rows, 2),)](gate, up, out, *strides, rows, columns, BLOCK=BLOCK)
