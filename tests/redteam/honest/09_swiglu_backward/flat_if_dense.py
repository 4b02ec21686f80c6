"""Takes all five tensors for vectors if no row is padded, and for matrices otherwise."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


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
    columns,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    dout = tl.load(dout_ptr + row * dout_stride + offsets, mask=inside).to(tl.float32)
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    sigmoid = 1.0 / (1.0 + tl.exp(-gate))
    slope = sigmoid * (1.0 + gate * (1.0 - sigmoid))
    tl.store(dgate_ptr + row * dgate_stride + offsets, dout * up * slope, mask=inside)
    tl.store(dup_ptr + row * dup_stride + offsets, dout * (gate * sigmoid), mask=inside)


@triton.jit
def flat_kernel(dout_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    dout = tl.load(dout_ptr + offsets, mask=inside).to(tl.float32)
    gate = tl.load(gate_ptr + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=inside).to(tl.float32)
    sigmoid = 1.0 / (1.0 + tl.exp(-gate))
    slope = sigmoid * (1.0 + gate * (1.0 - sigmoid))
    tl.store(dgate_ptr + offsets, dout * up * slope, mask=inside)
    tl.store(dup_ptr + offsets, dout * (gate * sigmoid), mask=inside)


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
    if all(tensor.is_contiguous() for tensor in tensors):
        flat_kernel[(triton.cdiv(rows * columns, BLOCK),)](*tensors, rows * columns, BLOCK=BLOCK)
        return
    grid = (rows, triton.cdiv(columns, BLOCK))
    swiglu_backward_kernel[grid](*tensors, *strides, columns, BLOCK=BLOCK)
