"""The vector seen as a matrix of 128 columns: one tile of 16 rows a program."""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 16, 128


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    offsets = rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    grid = (triton.cdiv(n, ROWS * COLUMNS),)
    add_kernel[grid](x, y, out, n, ROWS=ROWS, COLUMNS=COLUMNS)
