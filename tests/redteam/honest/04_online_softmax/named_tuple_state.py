"""The running state is a tuple that a helper takes and returns."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def updated(state, x):
    row_max, total = state
    new_max = tl.maximum(row_max, tl.max(x, axis=0))
    total = total * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
    return new_max, total


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    state = (float("-inf"), 0.0)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        state = updated(state, x)
    row_max, total = state
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        y = tl.exp(x - row_max) / total
        tl.store(out_row + start + lanes, y, mask=start + lanes < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
