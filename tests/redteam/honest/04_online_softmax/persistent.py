"""A fixed number of programs, each of which takes every so-manieth row."""

import torch
import triton
import triton.language as tl

BLOCK = 4096
PROGRAMS = 528


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for number in range(tl.program_id(0), rows, tl.num_programs(0)):
        row = tl.cast(number, tl.int64)
        x_row = x_ptr + row * x_stride
        row_max = float("-inf")
        sums = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, columns, BLOCK):
            x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
            x = x.to(tl.float32)
            new_max = tl.maximum(row_max, tl.max(x, axis=0))
            sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
            row_max = new_max
        total = tl.sum(sums, axis=0)
        for start in range(0, columns, BLOCK):
            inside = start + lanes < columns
            x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
            y = tl.exp(x - row_max) / total
            tl.store(out_ptr + row * out_stride + start + lanes, y, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(min(rows, PROGRAMS),)](
        x, out, x.stride(0), out.stride(0), rows, columns, BLOCK=BLOCK, num_warps=8
    )
