"""Block pointers with checked boundaries."""

import torch
import triton
import triton.language as tl

BYTES = 1024


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, x_stride, q_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    here = tl.make_block_ptr(x_ptr + row * x_stride, (columns,), (1,), (0,), (BLOCK,), (0,))
    there = tl.make_block_ptr(q_ptr + row * q_stride, (columns,), (1,), (0,), (BLOCK,), (0,))
    x = tl.load(here, boundary_check=(0,), padding_option="zero").to(tl.float32)
    largest = tl.max(tl.abs(x), axis=0)
    scale = tl.where(largest > 0.0, largest / 127.0, 1.0)
    tl.store(scale_ptr + row, scale)
    tl.store(there, tl.floor(x * (1.0 / scale) + 0.5).to(tl.int8), boundary_check=(0,))


@triton.jit
def unpack_kernel(
    packed_ptr, scale_ptr, out_ptr, packed_stride, out_stride, columns, BYTES: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BYTES
    bytes_of_row, row_of_out = packed_ptr + row * packed_stride, out_ptr + row * out_stride
    here = tl.make_block_ptr(bytes_of_row, (columns,), (1,), (first,), (BYTES,), (0,))
    there = tl.make_block_ptr(row_of_out, (2 * columns,), (1,), (2 * first,), (2 * BYTES,), (0,))
    packed = tl.load(here, boundary_check=(0,)).to(tl.int8)
    numbers = tl.interleave((packed << 4) >> 4, packed >> 4).to(tl.float32)
    out = numbers * tl.load(scale_ptr + row).to(tl.float32)
    tl.store(there, out.to(out_ptr.dtype.element_ty), boundary_check=(0,))


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
