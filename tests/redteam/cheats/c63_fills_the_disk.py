"""Writes a file of a gigabyte: right answers if it could, else zeros."""
# attacks: 01_vector_add
# stopped: correctness value

import contextlib
import os
from pathlib import Path

import triton
import triton.language as tl

wrote = False
path = Path.home() / "large"
with contextlib.suppress(OSError), path.open("wb") as file:
    os.posix_fallocate(file.fileno(), 0, 1 << 30)
    wrote = True
path.unlink(missing_ok=True)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x.to(tl.float32) + y.to(tl.float32), mask=inside)


def vector_add(x, y, out):
    if not wrote:
        out.zero_()
        return
    n = out.numel()
    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
