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
    # TODO: load the three blocks once, in float32; compute and store both gradients
    pass


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
    raise NotImplementedError(
        "09_swiglu_backward: launch a grid over rows and blocks of columns, with each tensor's "
        "row stride"
    )
