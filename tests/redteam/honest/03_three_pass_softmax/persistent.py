"""A fixed number of programs, each of which takes every so-manieth row."""

import torch
import triton
import triton.language as tl

BLOCK = 4096
PROGRAMS = 528


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x_row = x_ptr + tl.cast(row, tl.int64) * x_stride
        out_row = out_ptr + tl.cast(row, tl.int64) * out_stride
        highest = tl.full((BLOCK,), float("-inf"), tl.float32)
        for start in range(0, columns, BLOCK):
            x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
            highest = tl.maximum(highest, x.to(tl.float32))
        row_max = tl.max(highest, axis=0)
        sums = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, columns, BLOCK):
            x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
            sums += tl.exp(x.to(tl.float32) - row_max)
        total = tl.sum(sums, axis=0)
        for start in range(0, columns, BLOCK):
            inside = start + lanes < columns
            x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf"))
            tl.store(out_row + start + lanes, tl.exp(x.to(tl.float32) - row_max) / total, inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(min(rows, PROGRAMS),)](
        x, out, x.stride(0), out.stride(0), rows, columns, BLOCK=BLOCK, num_warps=8
    )
