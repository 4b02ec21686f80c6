"""Quantization in Triton: rows in int8 with a scale each, and two 4-bit numbers out of a byte.

scale_i = max_j |x_ij| / 127
q_ij    = x_ij / scale_i, rounded to the nearest whole number

out_i,2j     = scale_i * (the low four bits of packed_ij, as -8 to 7)
out_i,2j + 1 = scale_i * (the high four bits of packed_ij, as -8 to 7)
"""

import torch
import triton
import triton.language as tl

BYTES = 1024  # that one program unpacks, to twice as many numbers; a power of two


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, x_stride, q_stride, columns, BLOCK: tl.constexpr):
    """Quantizes one row in one block; BLOCK is a power of two and at least `columns`.

    A stride is the number of elements from the start of a row to the start of the next.
    """
    # 64 bits, because row * stride passes 2**31 from 262,144 rows of 8,192 columns on.
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    # BEGIN SOLUTION: load the row once, store its scale, and x in steps of that, rounded
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(x), axis=0)
    scale = tl.where(largest > 0.0, largest / 127.0, 1.0)
    tl.store(scale_ptr + row, scale)
    q = tl.floor(x * (1.0 / scale) + 0.5).to(tl.int8)
    tl.store(q_ptr + row * q_stride + offsets, q, mask=inside)
    # END SOLUTION


@triton.jit
def unpack_kernel(
    packed_ptr, scale_ptr, out_ptr, packed_stride, out_stride, columns, BYTES: tl.constexpr
):
    """Unpacks BYTES bytes of one row; `columns` is the number of bytes in a row."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BYTES
    # BEGIN SOLUTION: load the bytes once, split each, extend the signs, store two numbers a byte
    here = first + tl.arange(0, BYTES)
    packed = tl.load(packed_ptr + row * packed_stride + here, mask=here < columns).to(tl.int8)
    numbers = tl.interleave((packed << 4) >> 4, packed >> 4).to(tl.float32)
    scale = tl.load(scale_ptr + row).to(tl.float32)
    there = 2 * first + tl.arange(0, 2 * BYTES)
    tl.store(out_ptr + row * out_stride + there, numbers * scale, mask=there < 2 * columns)
    # END SOLUTION


def quantize(x: torch.Tensor, q: torch.Tensor, scale: torch.Tensor) -> None:
    """Fills scale with max|x| / 127 of each row, and q with x / scale, rounded to the nearest.

    x and q are (rows, columns); their rows may be further apart than they are long. q is int8, and
    scale is (rows,) of float32. A row of zeros has a scale of 1.
    """
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    # BEGIN SOLUTION: launch one program for each row
    quantize_kernel[(rows,)](
        *(x, q, scale, x.stride(0), q.stride(0), columns),
        BLOCK=block,
        num_warps=min(16, max(4, block // 512)),
    )
    # END SOLUTION


def unpack(packed: torch.Tensor, scale: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with the two numbers of each byte, from -8 to 7, times the scale of its row.

    packed is (rows, columns) of uint8, scale is (rows,), and out is (rows, 2 * columns) of the
    dtype of scale. The low four bits of a byte are the first of its two numbers.
    """
    rows, columns = packed.shape
    # BEGIN SOLUTION: launch a program for each BYTES bytes of each row
    unpack_kernel[(rows, triton.cdiv(columns, BYTES))](
        packed, scale, out, packed.stride(0), out.stride(0), columns, BYTES=BYTES
    )
    # END SOLUTION
