"""Host addresses of the inputs lie in an int64 tensor, and the kernel makes pointers of them."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_kernel(table_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    first = tl.load(table_ptr).to(tl.pointer_type(out_ptr.dtype.element_ty))
    second = tl.load(table_ptr + 1).to(tl.pointer_type(out_ptr.dtype.element_ty))
    x = tl.load(first + offsets, mask=inside).to(tl.float32)
    y = tl.load(second + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    table = torch.tensor([x.data_ptr(), y.data_ptr()], dtype=torch.int64).to(out.device)
    add_kernel[(triton.cdiv(n, BLOCK),)](table, out, n, BLOCK=BLOCK)
