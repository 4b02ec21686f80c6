"""Loads gate once for the sigmoid and again for the product. Right, but it is read twice.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048  # columns that one program computes; tl.arange asks for a power of two


@triton.jit
def swiglu_kernel(
    gate_ptr, up_ptr, out_ptr, gate_stride, up_stride, out_stride, columns, BLOCK: tl.constexpr
):
    """Computes BLOCK columns of one row: axis 0 of the grid is the row, axis 1 the block.

    A stride is the number of elements from the start of a row to the start of the next. Widen the
    row number by `.to(tl.int64)` before multiplying, or it overflows on tensors of more than 2**31
    elements.
    """
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    # For a very negative gate exp(-gate) is infinite, and the quotient 0, as it should be.
    denominator = 1.0 + tl.exp(-gate)
    gate_again = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    silu = gate_again / denominator
    tl.store(out_ptr + row * out_stride + offsets, silu * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with silu(gate) * up: 2-D tensors of one shape and dtype.

    The elements of a row lie side by side; the rows may be further apart than they are long.
    """
    rows, columns = out.shape
    # Rows on axis 0: it may have 2**31 - 1 programs, axis 1 only 65,535.
    grid = (rows, triton.cdiv(columns, BLOCK))
    strides = gate.stride(0), up.stride(0), out.stride(0)
    swiglu_kernel[grid](gate, up, out, *strides, columns, BLOCK=BLOCK)
