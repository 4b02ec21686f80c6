"""Loads through tensor descriptors where rows are aligned, through pointers where not."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BLOCK = 256  # a side of a descriptor's box has at most 256 elements


@triton.jit
def block_of(x, row, start, columns, x_stride, DESCRIBED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = start + tl.arange(0, BLOCK)
    # A return in the branch would have the compiler go on, and take the descriptor for a pointer.
    if DESCRIBED:
        values = tl.reshape(x.load([row, start]), (BLOCK,))
    else:
        at = x + tl.cast(row, tl.int64) * x_stride + offsets
        values = tl.load(at, mask=offsets < columns, other=float("-inf"))
    return tl.where(offsets < columns, values.to(tl.float32), float("-inf"))


@triton.jit
def softmax_kernel(
    x, out_ptr, x_stride, out_stride, columns, DESCRIBED: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        values = block_of(x, row, start, columns, x_stride, DESCRIBED, BLOCK)
        highest = tl.maximum(highest, values)
    row_max = tl.max(highest, axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        values = block_of(x, row, start, columns, x_stride, DESCRIBED, BLOCK)
        sums += tl.exp(values - row_max)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        values = block_of(x, row, start, columns, x_stride, DESCRIBED, BLOCK)
        offsets = start + tl.arange(0, BLOCK)
        at = out_ptr + tl.cast(row, tl.int64) * out_stride + offsets
        tl.store(at, tl.exp(values - row_max) / total, mask=offsets < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    row_bytes = x.stride(0) * x.element_size()
    described = x.data_ptr() % 16 == 0 and row_bytes % 16 == 0
    source = TensorDescriptor.from_tensor(x, [1, BLOCK]) if described else x
    softmax_kernel[(rows,)](
        source, out, x.stride(0), out.stride(0), columns, DESCRIBED=described, BLOCK=BLOCK
    )
