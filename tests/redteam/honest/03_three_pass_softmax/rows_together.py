"""Four rows a program: tiles of two axes, and one maximum and sum for each row."""

import torch
import triton
import triton.language as tl

ROWS, BLOCK = 4, 1024


@triton.jit
def softmax_kernel(
    x_ptr, out_ptr, x_stride, out_stride, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    here = (row < rows)[:, None]
    x_rows = x_ptr + row[:, None] * x_stride
    out_rows = out_ptr + row[:, None] * out_stride
    lanes = tl.arange(0, BLOCK)[None, :]
    row_max = tl.full((ROWS,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = here & (start + lanes < columns)
        x = tl.load(x_rows + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        row_max = tl.maximum(row_max, tl.max(x, axis=1))
    # A row past the end has no maximum: 0 keeps it free of NaN.
    row_max = tl.where(row < rows, row_max, 0.0)[:, None]
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = here & (start + lanes < columns)
        x = tl.load(x_rows + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - row_max), axis=1)
    total = tl.where(row < rows, total, 1.0)[:, None]
    for start in range(0, columns, BLOCK):
        inside = here & (start + lanes < columns)
        x = tl.load(x_rows + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(out_rows + start + lanes, tl.exp(x - row_max) / total, mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(triton.cdiv(rows, ROWS),)](
        x, out, x.stride(0), out.stride(0), rows, columns, ROWS=ROWS, BLOCK=BLOCK, num_warps=8
    )
