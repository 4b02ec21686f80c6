"""Each program stores its partial sum straight to dweight: the one that stores last wins.

Rejected at: correctness of rms_norm_backward
"""

import torch
import triton
import triton.language as tl

PROGRAMS = 264  # of the backward pass, at most: two for each multiprocessor of an H100
LEAST_ROWS = 4  # for each of them, so that few rows give few partial sums


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
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0).to(tl.float32)
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
    dweight_ptr,
    x_stride,
    dout_stride,
    dx_stride,
    rows,
    columns,
    rows_each,
    BLOCK: tl.constexpr,
):
    """Fills `rows_each` rows of dx, and one row of partial sums of dweight.

    The last one is lost but for one program's.
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
    tl.store(dweight_ptr + offsets, partial, mask=inside)


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
    rms_norm_backward_kernel[(programs,)](
        x,
        weight,
        rstd,
        dout,
        dx,
        dweight,
        x.stride(0),
        dout.stride(0),
        dx.stride(0),
        rows,
        columns,
        rows_each,
        BLOCK=block,
        num_warps=warps(block),
    )
