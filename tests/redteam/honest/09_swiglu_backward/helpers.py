"""Two inlined helpers compute the sigmoid and both gradients."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def sigmoid_of(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def gradients(dout, gate, up):
    sigmoid = sigmoid_of(gate)
    return dout * up * (sigmoid * (1.0 + gate * (1.0 - sigmoid))), dout * (gate * sigmoid)


@triton.jit
def load(start, offsets, columns):
    return tl.load(start + offsets, mask=offsets < columns).to(tl.float32)


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
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    dgate, dup = gradients(
        load(dout_ptr + row * dout_stride, offsets, columns),
        load(gate_ptr + row * gate_stride, offsets, columns),
        load(up_ptr + row * up_stride, offsets, columns),
    )
    tl.store(dgate_ptr + row * dgate_stride + offsets, dgate, mask=offsets < columns)
    tl.store(dup_ptr + row * dup_stride + offsets, dup, mask=offsets < columns)


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
    grid = (rows, triton.cdiv(columns, BLOCK))
    swiglu_backward_kernel[grid](*tensors, *strides, columns, BLOCK=BLOCK)
