"""As many programs as the GPU has processors share the rows out by `tl.range`."""

import torch
import triton
import triton.language as tl

BLOCK = 1024

PROGRAMS = 132  # processors of an H100 or H200


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for number in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        row = number.to(tl.int64)
        x_row = x_ptr + row * x_stride
        out_row = out_ptr + row * out_stride
        highest = tl.full((BLOCK,), float("-inf"), tl.float32)
        for start in range(0, columns, BLOCK):
            x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
            x = x.to(tl.float32)
            highest = tl.maximum(highest, x)
        row_max = tl.max(highest, axis=0)
        sums = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, columns, BLOCK):
            x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
            x = x.to(tl.float32)
            sums += tl.exp(x - row_max)
        total = tl.sum(sums, axis=0)
        for start in range(0, columns, BLOCK):
            x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
            x = x.to(tl.float32)
            y = tl.exp(x - row_max) / total
            tl.store(out_row + start + lanes, y, mask=start + lanes < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(min(rows, PROGRAMS),)](
        x, out, x.stride(0), out.stride(0), rows, columns, BLOCK=BLOCK, num_warps=4
    )
