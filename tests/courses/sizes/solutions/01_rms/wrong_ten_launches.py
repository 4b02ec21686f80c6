"""Wrong: too slow for a single row: one launch adds its squares, nine scale a part each."""

import torch
import triton
import triton.language as tl

PARTS = 9


@triton.jit
def _sum(x_ptr, total_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + offsets, mask=offsets < columns, other=0.0)
    tl.store(total_ptr + row, tl.sum(x * x, axis=0))


@triton.jit
def _scale(x_ptr, out_ptr, total_ptr, stride, out_stride, first, end, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = first + tl.arange(0, BLOCK)
    mask = offsets < end
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0)
    scale = 1.0 / tl.sqrt_rn(tl.load(total_ptr + row) / columns + 1e-6)
    tl.store(out_ptr + row * out_stride + offsets, x * scale, mask=mask)


def rms(x, out):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    if rows > 1:
        _whole[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=block, num_warps=8)
        return
    total = torch.empty(rows, device=x.device)
    _sum[(rows,)](x, total, x.stride(0), columns, BLOCK=block)
    part = triton.cdiv(columns, PARTS)
    for first in range(0, columns, part):
        end = min(first + part, columns)
        _scale[(rows,)](
            x,
            out,
            total,
            x.stride(0),
            out.stride(0),
            first,
            end,
            columns,
            BLOCK=triton.next_power_of_2(part),
        )


@triton.jit
def _whole(x_ptr, out_ptr, stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0)
    scale = 1.0 / tl.sqrt_rn(tl.sum(x * x, axis=0) / columns + 1e-6)
    tl.store(out_ptr + row * out_stride + offsets, x * scale, mask=mask)
