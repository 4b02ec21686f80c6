"""Masked lanes hold anything, and their squares enter the sum.

Rejected at: correctness of rms_norm
On a GPU: may pass by luck, for masked lanes often hold 0 there
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
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside).to(tl.float32)
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / columns + eps)
    tl.store(rstd_ptr + row, rstd)
    weight = tl.load(weight_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, x * rstd * weight, mask=inside)


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
    weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    partial = tl.zeros((BLOCK,), tl.float32)
    first = program * rows_each
    for row in range(first, tl.minimum(first + rows_each, rows)):
        x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0).to(tl.float32)
        dout = tl.load(dout_ptr + row * dout_stride + offsets, mask=inside, other=0.0)
        dout = dout.to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        xhat = x * rstd
        scaled = weight * dout
        mean = tl.sum(scaled * xhat, axis=0) / columns
        dx = rstd * (scaled - xhat * mean)
        tl.store(dx_ptr + row * dx_stride + offsets, dx, mask=inside)
        partial += dout * xhat
    tl.store(partial_ptr + program * columns + offsets, partial, mask=inside)


@triton.jit
def sum_partials_kernel(
    partial_ptr, dweight_ptr, partials, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Fills COLUMNS elements of dweight with the sums of these columns of `partials` rows."""
    columns_here = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, partials, ROWS):
        rows_here = start + tl.arange(0, ROWS)
        inside = (rows_here < partials)[:, None] & (columns_here < columns)[None, :]
        places = rows_here[:, None] * columns + columns_here[None, :]
        sums += tl.load(partial_ptr + places, mask=inside, other=0.0)
    tl.store(dweight_ptr + columns_here, tl.sum(sums, axis=0), mask=columns_here < columns)


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
    rms_norm_kernel[(rows,)](
        x,
        weight,
        out,
        rstd,
        x.stride(0),
        out.stride(0),
        columns,
        eps,
        BLOCK=block,
        num_warps=warps(block),
    )


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
    rows_each = max(LEAST_ROWS, triton.cdiv(rows, PROGRAMS))
    programs = triton.cdiv(rows, rows_each)
    partial = torch.empty((programs, columns), dtype=torch.float32, device=x.device)
    rms_norm_backward_kernel[(programs,)](
        x,
        weight,
        rstd,
        dout,
        dx,
        partial,
        x.stride(0),
        dout.stride(0),
        dx.stride(0),
        rows,
        columns,
        rows_each,
        BLOCK=block,
        num_warps=warps(block),
    )
    sum_partials_kernel[(triton.cdiv(columns, SUM_COLUMNS),)](
        partial, dweight, programs, columns, ROWS=SUM_ROWS, COLUMNS=SUM_COLUMNS
    )
