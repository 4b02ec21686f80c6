"""Maximum and sum of a block come from an associative scan of pairs; the last pair counts."""

import torch
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def merge(max_a, sum_a, max_b, sum_b):
    highest = tl.maximum(max_a, max_b)
    # A lane past the end has no maximum: the difference of two infinities is not a number.
    safe = tl.where(highest == float("-inf"), 0.0, highest)
    return highest, sum_a * tl.exp(max_a - safe) + sum_b * tl.exp(max_b - safe)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    row_max = float("-inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        ones = tl.where(start + lanes < columns, 1.0, 0.0)
        maxima, sums = tl.associative_scan((x, ones), 0, merge)
        block_max = tl.max(maxima, axis=0)
        block_sum = tl.sum(tl.where(lanes == BLOCK - 1, sums, 0.0), axis=0)
        new_max = tl.maximum(row_max, block_max)
        total = total * tl.exp(row_max - new_max) + block_sum * tl.exp(block_max - new_max)
        row_max = new_max
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        y = tl.exp(x - row_max) / total
        tl.store(out_row + start + lanes, y, mask=start + lanes < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=4)
