"""Block pointers of two axes move along two rows in a loop."""

import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def swiglu_backward_kernel(
    dout_ptr,
    gate_ptr,
    up_ptr,
    dgate_ptr,
    dup_ptr,
    dout_stride,
    gate_stride,
    up_stride,
    dgate_stride,
    dup_stride,
    rows,
    columns,
    BLOCK: tl.constexpr,
):
    shape = (rows, columns)
    at = (tl.program_id(0) * 2, 0)
    douts = tl.make_block_ptr(dout_ptr, shape, (dout_stride, 1), at, (2, BLOCK), (1, 0))
    gates = tl.make_block_ptr(gate_ptr, shape, (gate_stride, 1), at, (2, BLOCK), (1, 0))
    ups = tl.make_block_ptr(up_ptr, shape, (up_stride, 1), at, (2, BLOCK), (1, 0))
    dgates = tl.make_block_ptr(dgate_ptr, shape, (dgate_stride, 1), at, (2, BLOCK), (1, 0))
    dups = tl.make_block_ptr(dup_ptr, shape, (dup_stride, 1), at, (2, BLOCK), (1, 0))
    for _ in range(0, columns, BLOCK):
        dout = tl.load(douts, boundary_check=(0, 1)).to(tl.float32)
        gate = tl.load(gates, boundary_check=(0, 1)).to(tl.float32)
        up = tl.load(ups, boundary_check=(0, 1)).to(tl.float32)
        sigmoid = 1.0 / (1.0 + tl.exp(-gate))
        dgate = dout * up * (sigmoid * (1.0 + gate * (1.0 - sigmoid)))
        dup = dout * (gate * sigmoid)
        tl.store(dgates, dgate.to(dgate_ptr.dtype.element_ty), boundary_check=(0, 1))
        tl.store(dups, dup.to(dup_ptr.dtype.element_ty), boundary_check=(0, 1))
        douts = tl.advance(douts, (0, BLOCK))
        gates = tl.advance(gates, (0, BLOCK))
        ups = tl.advance(ups, (0, BLOCK))
        dgates = tl.advance(dgates, (0, BLOCK))
        dups = tl.advance(dups, (0, BLOCK))


def swiglu_backward(
    dout: torch.Tensor,
    gate: torch.Tensor,
    up: torch.Tensor,
    dgate: torch.Tensor,
    dup: torch.Tensor,
) -> None:
    rows, columns = dout.shape
    tensors = dout, gate, up, dgate, dup
    strides = [tensor.stride(0) for tensor in tensors]
    programs = triton.cdiv(rows, 2)
    swiglu_backward_kernel[(programs,)](*tensors, *strides, rows, columns, BLOCK=BLOCK)
