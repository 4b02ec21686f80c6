"""A function makes the kernel; the operation and the width are constants of its closure."""

import torch
import triton
import triton.language as tl


def make(width: int):
    WIDTH: tl.constexpr = tl.constexpr(width)

    @triton.jit
    def kernel(x_ptr, y_ptr, out_ptr, n):
        offsets = tl.program_id(0).to(tl.int64) * WIDTH + tl.arange(0, WIDTH)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
        y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
        tl.store(out_ptr + offsets, x + y, mask=inside)

    return kernel


add_kernel = make(512)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    add_kernel[(triton.cdiv(out.numel(), 512),)](x, y, out, out.numel())
