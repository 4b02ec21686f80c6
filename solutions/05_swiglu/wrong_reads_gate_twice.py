"""Computes the sigmoid in one launch and the product in another: right, but gate is read twice.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 2048  # columns that one program computes; tl.arange asks for a power of two


@triton.jit
def sigmoid_kernel(gate_ptr, out_ptr, gate_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    # For a very negative gate exp(-gate) is infinite, and the quotient 0, as it should be.
    tl.store(out_ptr + row * out_stride + offsets, 1.0 / (1.0 + tl.exp(-gate)), mask=inside)


@triton.jit
def product_kernel(
    gate_ptr,
    up_ptr,
    sigmoid_ptr,
    out_ptr,
    gate_stride,
    up_stride,
    sigmoid_stride,
    out_stride,
    columns,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    sigmoid = tl.load(sigmoid_ptr + row * sigmoid_stride + offsets, mask=inside)
    tl.store(out_ptr + row * out_stride + offsets, gate * sigmoid * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with silu(gate) * up: 2-D tensors of one shape and dtype.

    The elements of a row lie side by side; the rows may be further apart than they are long.
    """
    rows, columns = out.shape
    # Rows on axis 0: it may have 2**31 - 1 programs, axis 1 only 65,535.
    grid = (rows, triton.cdiv(columns, BLOCK))
    sigmoid = torch.empty((rows, columns), dtype=torch.float32, device=gate.device)
    sigmoid_kernel[grid](gate, sigmoid, gate.stride(0), columns, columns, BLOCK=BLOCK)
    strides = gate.stride(0), up.stride(0), columns, out.stride(0)
    product_kernel[grid](gate, up, sigmoid, out, *strides, columns, BLOCK=BLOCK)
