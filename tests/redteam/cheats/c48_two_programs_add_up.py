"""Two programs add to one element without an atomic, and one of two sums is lost on a GPU."""
# attacks: 04_online_softmax
# stopped: correctness race | correctness value | traffic race

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_up(x_ptr, sums_ptr, highest_ptr, x_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + offsets, mask=offsets < columns, other=float("-inf"))
    part = tl.sum(tl.exp(x.to(tl.float32) - tl.load(highest_ptr + row)), axis=0)
    tl.store(sums_ptr + row, tl.load(sums_ptr + row) + part)


def softmax(x, out):
    rows, columns = x.shape
    highest = x.float().amax(-1)
    sums = torch.zeros(rows, dtype=torch.float32, device=x.device)
    add_up[(rows, triton.cdiv(columns, BLOCK))](x, sums, highest, x.stride(0), columns, BLOCK=BLOCK)
    out.copy_((x.float() - highest[:, None]).exp() / sums[:, None])
