"""Each block of the row is a tile of 16 by 256, reduced along both axes in turn."""

import torch
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    tile = tl.arange(0, 16)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    highest = tl.full((16,), float("-inf"), tl.float32)
    for start in range(0, columns, 16 * BLOCK):
        x = tl.load(x_row + start + tile, mask=start + tile < columns, other=float("-inf"))
        highest = tl.maximum(highest, tl.max(x.to(tl.float32), axis=1))
    row_max = tl.max(highest, axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, 16 * BLOCK):
        x = tl.load(x_row + start + tile, mask=start + tile < columns, other=float("-inf"))
        sums += tl.sum(tl.exp(x.to(tl.float32) - row_max), axis=0)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, 16 * BLOCK):
        inside = start + tile < columns
        x = tl.load(x_row + start + tile, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(out_row + start + tile, tl.exp(x - row_max) / total, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
