"""The vector as a tile of two dimensions, of rows that lie one after the other."""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 8, 128


@triton.jit
def sin_cos_kernel(x_ptr, sin_ptr, cos_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    offsets = rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(sin_ptr + offsets, tl.sin(x), mask=inside)
    tl.store(cos_ptr + offsets, tl.cos(x), mask=inside)


def sin_cos(x: torch.Tensor, sin_out: torch.Tensor, cos_out: torch.Tensor) -> None:
    n = x.numel()
    programs = triton.cdiv(n, ROWS * COLUMNS)
    sin_cos_kernel[(programs,)](x, sin_out, cos_out, n, ROWS=ROWS, COLUMNS=COLUMNS)
