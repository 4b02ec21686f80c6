"""Four rows a program: tiles of two axes, and a maximum and a sum for each row."""

import torch
import triton
import triton.language as tl

ROWS, BLOCK = 4, 1024


@triton.jit
def softmax_kernel(
    x_ptr, out_ptr, x_stride, out_stride, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    x_rows = x_ptr + row[:, None] * x_stride
    out_rows = out_ptr + row[:, None] * out_stride
    here = (row < rows)[:, None]
    lanes = tl.arange(0, BLOCK)[None, :]
    row_max = tl.full((ROWS,), -3.4028234663852886e38, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = here & (start + lanes < columns)
        x = tl.load(x_rows + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=1))
        terms = tl.exp(x - new_max[:, None])
        total = total * tl.exp(row_max - new_max) + tl.sum(terms, axis=1)
        row_max = new_max
    for start in range(0, columns, BLOCK):
        inside = here & (start + lanes < columns)
        x = tl.load(x_rows + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - row_max[:, None]) / total[:, None]
        tl.store(out_rows + start + lanes, y, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(triton.cdiv(rows, ROWS),)](
        x, out, x.stride(0), out.stride(0), rows, columns, ROWS=ROWS, BLOCK=BLOCK, num_warps=8
    )
