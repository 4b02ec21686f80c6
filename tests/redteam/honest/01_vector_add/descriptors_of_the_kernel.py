"""The kernel makes its descriptors; the host gives memory for them, and takes odd addresses."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_by_descriptors(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, shape=[n], strides=[1], block_shape=[BLOCK])
    y_desc = tl.make_tensor_descriptor(y_ptr, shape=[n], strides=[1], block_shape=[BLOCK])
    out_desc = tl.make_tensor_descriptor(out_ptr, shape=[n], strides=[1], block_shape=[BLOCK])
    start = tl.program_id(0) * BLOCK
    total = x_desc.load([start]).to(tl.float32) + y_desc.load([start]).to(tl.float32)
    out_desc.store([start], total.to(out_ptr.dtype.element_ty))


@triton.jit
def add_by_pointers(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def allocate(size: int, alignment: int, stream: int | None) -> torch.Tensor:
    return torch.empty(size, dtype=torch.int8, device="cuda")


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    grid = (triton.cdiv(n, BLOCK),)
    aligned = all(each.data_ptr() % 16 == 0 for each in (x, y, out))
    whole = n * out.itemsize % 16 == 0  # the hardware writes no part of 16 bytes
    if aligned and whole and n < 2**31 and torch.cuda.get_device_capability(x.device)[0] >= 9:
        triton.set_allocator(allocate)
        add_by_descriptors[grid](x, y, out, n, BLOCK=BLOCK)
    else:
        add_by_pointers[grid](x, y, out, n, BLOCK=BLOCK)
