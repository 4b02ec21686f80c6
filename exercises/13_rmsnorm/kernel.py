"""RMSNorm in Triton, forward and backward; the weight's gradient by partial sums.

    rstd_i    = 1 / sqrt(mean_j x_ij^2 + eps)
    out_ij    = x_ij * rstd_i * weight_j
    dx_ij     = rstd_i * (weight_j * dout_ij - xhat_ij * mean_j(weight_j * dout_ij * xhat_ij))
    dweight_j = sum_i dout_ij * xhat_ij                      with xhat_ij = x_ij * rstd_i

A row is one block, so a program reads it once and keeps it on the chip.
"""

import torch
import triton
import triton.language as tl

PROGRAMS = 264  # of the backward pass, at most: two for each multiprocessor of an H100
LEAST_ROWS = 4  # for each of them, so that few rows give few partial sums
SUM_ROWS, SUM_COLUMNS = 32, 64  # the tile of partial sums that is added up in one step


@triton.jit
def rms_norm_kernel(
    x_ptr,
    weight_ptr,
    out_ptr,
    rstd_ptr,
    x_stride,
    out_stride,
    columns,
    eps,
    BLOCK: tl.constexpr,
):
    """Normalizes one row in one block; BLOCK is a power of two and at least `columns`.

    A stride is the number of elements from the start of a row to the start of the next.
    """
    # 64 bits, because row * stride passes 2**31 from 262,144 rows of 8,192 columns on.
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    # TODO: load the row once, compute rstd from it, store rstd and the row of out
    pass


@triton.jit
def rms_norm_backward_kernel(
    x_ptr,
    weight_ptr,
    rstd_ptr,
    dout_ptr,
    dx_ptr,
    partial_ptr,
    x_stride,
    dout_stride,
    dx_stride,
    rows,
    columns,
    rows_each,
    BLOCK: tl.constexpr,
):
    """Fills `rows_each` rows of dx, and one row of partial sums of dweight.

    `partial_ptr` is a float32 matrix of one row for each program, whose rows lie side by side.
    """
    program = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    # TODO: for each of the program's rows store dx, and keep the sum of dout * xhat
    pass


@triton.jit
def sum_partials_kernel(
    partial_ptr, dweight_ptr, partials, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Fills COLUMNS elements of dweight with the sums of these columns of `partials` rows."""
    # TODO: add up tiles of ROWS x COLUMNS partial sums, and store one sum a column
    pass


def warps(block: int) -> int:
    """Returns how many warps share a row, so that a thread has 16 elements of 8,192."""
    return min(16, max(4, block // 512))


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, rstd: torch.Tensor, eps: float
) -> None:
    """Fills out with x * rstd * weight and rstd with 1 / sqrt(mean of x**2 + eps) of each row.

    x and out are (rows, columns), of one dtype; their rows may be further apart than they are
    long. weight is (columns,) of the same dtype, rstd is (rows,) of float32.
    """
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    raise NotImplementedError("13_rmsnorm: launch one program for each row")


def rms_norm_backward(
    x: torch.Tensor,
    weight: torch.Tensor,
    rstd: torch.Tensor,
    dout: torch.Tensor,
    dx: torch.Tensor,
    dweight: torch.Tensor,
) -> None:
    """Fills dx and dweight, the gradients of x and of weight, from dout, that of out.

    x, dout and dx are (rows, columns), of one dtype, each with a row stride of its own. weight is
    (columns,) of the same dtype, rstd is (rows,) of float32, dweight is (columns,) of float32.
    """
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    raise NotImplementedError(
        "13_rmsnorm: share the rows among the programs, and add up their partial sums"
    )
