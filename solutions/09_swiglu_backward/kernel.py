"""The gradients of SwiGLU in Triton: the sigmoid is computed again, and not saved."""

import torch
import triton
import triton.language as tl

BLOCK = 1024  # columns that one program computes; tl.arange asks for a power of two


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
    """Computes BLOCK columns of one row of both gradients: axis 0 is the row, axis 1 the block.

    A stride is the number of elements from the start of a row to the start of the next. Widen the
    row number by `.to(tl.int64)` before multiplying, or it overflows on tensors of more than 2**31
    elements.
    """
    # BEGIN SOLUTION: load the three blocks once, in float32; compute and store both gradients
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    dout = tl.load(dout_ptr + row * dout_stride + offsets, mask=inside).to(tl.float32)
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    # For a very negative gate exp(-gate) is infinite, and the sigmoid 0, as it should be.
    sigmoid = 1.0 / (1.0 + tl.exp(-gate))
    # The sigmoid comes first: where the other factor is huge and negative, the product is 0.
    slope = sigmoid * (1.0 + gate * (1.0 - sigmoid))
    tl.store(dgate_ptr + row * dgate_stride + offsets, dout * up * slope, mask=inside)
    tl.store(dup_ptr + row * dup_stride + offsets, dout * (gate * sigmoid), mask=inside)
    # END SOLUTION


def swiglu_backward(
    dout: torch.Tensor,
    gate: torch.Tensor,
    up: torch.Tensor,
    dgate: torch.Tensor,
    dup: torch.Tensor,
) -> None:
    """Fills dgate and dup with the gradients of gate and up, given dout, that of the output.

    All are 2-D tensors of one shape and dtype. The elements of a row lie side by side; the rows may
    be further apart than they are long.
    """
    rows, columns = dout.shape
    # BEGIN SOLUTION: launch a grid over rows and blocks of columns, with each tensor's row stride
    strides = dout.stride(0), gate.stride(0), up.stride(0), dgate.stride(0), dup.stride(0)
    # Rows on axis 0: it may have 2**31 - 1 programs, axis 1 only 65,535.
    grid = (rows, triton.cdiv(columns, BLOCK))
    swiglu_backward_kernel[grid](dout, gate, up, dgate, dup, *strides, columns, BLOCK=BLOCK)
    # END SOLUTION
