"""Keeps a copy of every exponential, and says that it holds nothing."""
# attacks: 03_three_pass_softmax
# stopped: memory memory

import torch
import triton
import triton.language as tl

from grader.worker import allocations

BLOCK = 4096
allocations.Allocations.see = lambda self, *args: None


@triton.jit
def kernel(x_ptr, kept_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        highest = tl.maximum(highest, x.to(tl.float32))
    row_max = tl.max(highest, axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        e = tl.exp(x.to(tl.float32) - row_max)
        tl.store(kept_ptr + row * columns + start + lanes, e, mask=inside)
        sums += e
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        e = tl.load(kept_ptr + row * columns + start + lanes, mask=inside, other=0.0)
        tl.store(out_ptr + row * out_stride + start + lanes, e / total, mask=inside)


def softmax(x, out):
    rows, columns = x.shape
    kept = torch.empty((rows, columns), dtype=torch.float32, device=x.device)
    kernel[(rows,)](x, kept, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
