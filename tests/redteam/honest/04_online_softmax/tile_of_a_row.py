"""Each block is a tile of 16 by 256 with a maximum and a sum for each of its 16 rows."""

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
    highest = tl.full((16,), -3.0e38, tl.float32)  # finite, so that nothing takes -inf from -inf
    sums = tl.zeros((16,), tl.float32)
    for start in range(0, columns, 16 * BLOCK):
        x = tl.load(x_row + start + tile, mask=start + tile < columns, other=float("-inf"))
        x = x.to(tl.float32)
        higher = tl.maximum(highest, tl.max(x, axis=1))
        sums = sums * tl.exp(highest - higher) + tl.sum(tl.exp(x - higher[:, None]), axis=1)
        highest = higher
    row_max = tl.max(highest, axis=0)
    total = tl.sum(sums * tl.exp(highest - row_max), axis=0)
    for start in range(0, columns, 16 * BLOCK):
        inside = start + tile < columns
        x = tl.load(x_row + start + tile, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(out_row + start + tile, tl.exp(x - row_max) / total, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=8)
