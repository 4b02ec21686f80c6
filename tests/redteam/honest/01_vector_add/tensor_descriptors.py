"""Tensor descriptors (TMA on a GPU) where addresses are multiples of 16 bytes, else pointers."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BLOCK = 2048


@triton.jit
def add_boxes(x_desc, y_desc, out_desc):
    row = tl.program_id(0) * 16
    out_desc.store([row, 0], x_desc.load([row, 0]) + y_desc.load([row, 0]))


@triton.jit
def add_plain(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    tensors = (x, y, out)
    # A box has at most 256 elements a side: see it as rows of 128 only where that divides evenly.
    if n % 128 == 0 and all(tensor.data_ptr() % 16 == 0 for tensor in tensors):
        rows = n // 128
        boxes = [TensorDescriptor.from_tensor(t.view(rows, 128), [16, 128]) for t in tensors]
        add_boxes[(triton.cdiv(rows, 16),)](*boxes)
    else:
        add_plain[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)
