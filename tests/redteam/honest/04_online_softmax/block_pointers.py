"""Both passes advance a block pointer whose boundary is checked."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    source = tl.make_block_ptr(x_row, (columns,), (1,), (0,), (BLOCK,), (0,))
    row_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(source, boundary_check=(0,), padding_option="zero").to(tl.float32)
        x = tl.where(start + lanes < columns, x, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
        row_max = new_max
        source = tl.advance(source, (BLOCK,))
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        y = tl.exp(x - row_max) / total
        tl.store(out_row + start + lanes, y, mask=start + lanes < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=4)
