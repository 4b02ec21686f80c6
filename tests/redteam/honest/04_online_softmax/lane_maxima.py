"""Each lane keeps a maximum and a sum of its own; they are brought together after the loop."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_row + start + lanes, mask=start + lanes < columns, other=float("-inf"))
        x = x.to(tl.float32)
        higher = tl.maximum(highest, x)
        # A lane that has seen nothing yet would take -inf from -inf.
        known = higher > float("-inf")
        rescaled = sums * tl.exp(tl.where(known, highest - higher, 0.0))
        sums = rescaled + tl.where(known, tl.exp(tl.where(known, x - higher, 0.0)), 0.0)
        highest = higher
    row_max = tl.max(highest, axis=0)
    total = tl.sum(sums * tl.exp(highest - row_max), axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(out_row + start + lanes, tl.exp(x - row_max) / total, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
