"""Block size and warps are chosen by Triton's autotuner at the first call of each dtype."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 4096}, num_warps=8, num_stages=2),
        triton.Config({"BLOCK": 2048}, num_warps=4),
        triton.Config({"BLOCK": 8192}, num_warps=16),
    ],
    key=[],
)
@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    row_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, columns, BLOCK, num_stages=2):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        x = x.to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
        row_max = new_max
    total = tl.sum(sums, axis=0)
    for start in tl.range(0, columns, BLOCK, num_stages=2):
        inside = start + lanes < columns
        x = tl.load(x_ptr + row * x_stride + start + lanes, mask=inside, other=float("-inf"))
        y = tl.exp(x.to(tl.float32) - row_max) / total
        tl.store(out_ptr + row * out_stride + start + lanes, y, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns)
