"""A counter tells the program that ends last, and that one adds up all partial sums."""

import torch
import triton
import triton.language as tl

PROGRAMS = 264
LEAST_ROWS = 4


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
    partial_ptr,
    dweight_ptr,
    arrived_ptr,
    x_stride,
    dout_stride,
    dx_stride,
    rows,
    columns,
    rows_each,
    BLOCK: tl.constexpr,
):
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
    tl.debug_barrier()  # all of it is there before the counter says so
    programs = tl.num_programs(0)
    if tl.atomic_add(arrived_ptr, 1, sem="acq_rel") == programs - 1:
        total = tl.zeros((BLOCK,), tl.float32)
        for number in range(programs):
            place = partial_ptr + number * columns + offsets
            total += tl.load(place, mask=inside, other=0.0, volatile=True)
        tl.store(dweight_ptr + offsets, total, mask=inside)


def warps(block: int) -> int:
    return min(16, max(4, block // 512))


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, rstd: torch.Tensor, eps: float
) -> None:
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
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    rows_each = max(LEAST_ROWS, triton.cdiv(rows, PROGRAMS))
    programs = triton.cdiv(rows, rows_each)
    partial = torch.empty((programs, columns), dtype=torch.float32, device=x.device)
    arrived = torch.zeros(1, dtype=torch.int32, device=x.device)
    rms_norm_backward_kernel[(programs,)](
        x,
        weight,
        rstd,
        dout,
        dx,
        partial,
        dweight,
        arrived,
        x.stride(0),
        dout.stride(0),
        dx.stride(0),
        rows,
        columns,
        rows_each,
        BLOCK=block,
        num_warps=warps(block),
    )
