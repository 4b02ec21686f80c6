"""torch computes silu(gate) into a tensor of its own before the kernel multiplies: a copy too many.

Rejected at: memory
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048  # columns that one program computes; tl.arange asks for a power of two


@triton.jit
def multiply_kernel(
    silu_ptr, up_ptr, out_ptr, silu_stride, up_stride, out_stride, columns, BLOCK: tl.constexpr
):
    """Computes BLOCK columns of one row: axis 0 of the grid is the row, axis 1 the block.

    A stride is the number of elements from the start of a row to the start of the next. Widen the
    row number by `.to(tl.int64)` before multiplying, or it overflows on tensors of more than 2**31
    elements.
    """
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    silu = tl.load(silu_ptr + row * silu_stride + offsets, mask=inside)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, silu * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with silu(gate) * up: 2-D tensors of one shape and dtype.

    The elements of a row lie side by side; the rows may be further apart than they are long.
    """
    rows, columns = out.shape
    # Rows on axis 0: it may have 2**31 - 1 programs, axis 1 only 65,535.
    grid = (rows, triton.cdiv(columns, BLOCK))
    silu = torch.nn.functional.silu(gate.float())  # here: twice the room of gate itself
    strides = silu.stride(0), up.stride(0), out.stride(0)
    multiply_kernel[grid](silu, up, out, *strides, columns, BLOCK=BLOCK)
