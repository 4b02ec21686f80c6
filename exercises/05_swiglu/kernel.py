"""SwiGLU in Triton: out = silu(gate) * up, in one pass over memory."""

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
    # TODO: find the row and the columns, load gate and up, compute in float32, store
    pass


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with silu(gate) * up: 2-D tensors of one shape and dtype.

    The elements of a row lie side by side; the rows may be further apart than they are long.
    """
    rows, columns = out.shape
    raise NotImplementedError(
        "05_swiglu: launch a grid over rows and blocks of columns, with each tensor's row stride"
    )
