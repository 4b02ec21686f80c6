"""Rounds by a function of libdevice, and loads each byte for both of its lanes."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

BYTES = 1024


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, x_stride, q_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(x), axis=0)
    scale = tl.where(largest > 0.0, largest / 127.0, 1.0)
    tl.store(scale_ptr + row, scale)
    q = libdevice.rint(x * (1.0 / scale)).to(tl.int8)
    tl.store(q_ptr + row * q_stride + offsets, q, mask=inside)


@triton.jit
def unpack_kernel(
    packed_ptr, scale_ptr, out_ptr, packed_stride, out_stride, columns, BYTES: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    there = tl.program_id(1) * BYTES + tl.arange(0, BYTES)
    inside = there < 2 * columns
    packed = tl.load(packed_ptr + row * packed_stride + there // 2, mask=inside, other=0)
    nibble = (packed.to(tl.int32) >> (there % 2 * 4)) & 15
    scale = tl.load(scale_ptr + row).to(tl.float32)
    out = ((nibble ^ 8) - 8).to(tl.float32) * scale
    tl.store(out_ptr + row * out_stride + there, out, mask=inside)


def quantize(x: torch.Tensor, q: torch.Tensor, scale: torch.Tensor) -> None:
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    quantize_kernel[(rows,)](
        x,
        q,
        scale,
        x.stride(0),
        q.stride(0),
        columns,
        BLOCK=block,
        num_warps=min(16, max(4, block // 512)),
    )


def unpack(packed: torch.Tensor, scale: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = packed.shape
    unpack_kernel[(rows, triton.cdiv(2 * columns, BYTES))](
        packed, scale, out, packed.stride(0), out.stride(0), columns, BYTES=BYTES
    )
