"""torch computes the sigmoid into a tensor of its own, which reads gate once more.

Rejected at: traffic
"""

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
    sigmoid_ptr,
    dout_stride,
    gate_stride,
    up_stride,
    dgate_stride,
    dup_stride,
    sigmoid_stride,
    columns,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    dout = tl.load(dout_ptr + row * dout_stride + offsets, mask=inside).to(tl.float32)
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    sigmoid = tl.load(sigmoid_ptr + row * sigmoid_stride + offsets, mask=inside)
    slope = sigmoid * (1.0 + gate * (1.0 - sigmoid))
    tl.store(dgate_ptr + row * dgate_stride + offsets, dout * up * slope, mask=inside)
    tl.store(dup_ptr + row * dup_stride + offsets, dout * (gate * sigmoid), mask=inside)


def swiglu_backward(
    dout: torch.Tensor,
    gate: torch.Tensor,
    up: torch.Tensor,
    dgate: torch.Tensor,
    dup: torch.Tensor,
) -> None:
    rows, columns = dout.shape
    sigmoid = torch.sigmoid(gate.float())  # float32 keeps its digits
    strides = dout.stride(0), gate.stride(0), up.stride(0), dgate.stride(0), dup.stride(0)
    grid = (rows, triton.cdiv(columns, BLOCK))
    swiglu_backward_kernel[grid](
        dout, gate, up, dgate, dup, sigmoid, *strides, sigmoid.stride(0), columns, BLOCK=BLOCK
    )
