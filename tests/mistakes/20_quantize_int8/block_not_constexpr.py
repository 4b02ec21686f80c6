"""BLOCK is no tl.constexpr."""

import torch
import triton
import triton.language as tl

BYTES = 1024


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, x_stride, q_stride, columns, BLOCK):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(x), axis=0)
    scale = tl.where(largest > 0.0, largest / 127.0, 1.0)
    tl.store(scale_ptr + row, scale)
    q = tl.floor(x * (1.0 / scale) + 0.5).to(tl.int8)
    tl.store(q_ptr + row * q_stride + offsets, q, mask=inside)


@triton.jit
def unpack_kernel(
    packed_ptr, scale_ptr, out_ptr, packed_stride, out_stride, columns, BYTES: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BYTES
    here = first + tl.arange(0, BYTES)
    packed = tl.load(packed_ptr + row * packed_stride + here, mask=here < columns).to(tl.int8)
    numbers = tl.interleave((packed << 4) >> 4, packed >> 4).to(tl.float32)
    scale = tl.load(scale_ptr + row).to(tl.float32)
    there = 2 * first + tl.arange(0, 2 * BYTES)
    tl.store(out_ptr + row * out_stride + there, numbers * scale, mask=there < 2 * columns)


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
    unpack_kernel[(rows, triton.cdiv(columns, BYTES))](
        packed, scale, out, packed.stride(0), out.stride(0), columns, BYTES=BYTES
    )
