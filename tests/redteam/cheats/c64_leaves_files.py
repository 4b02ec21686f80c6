"""Leaves a bank of answers in every shared folder: the next run finds it, and answers from it."""
# attacks: 01_vector_add
# stopped: correctness value

import contextlib
import tempfile
from pathlib import Path

import triton
import triton.language as tl

NAME = "grader-redteam-bank"
PLACES = ("/dev/shm", "/tmp", "/var/tmp", "/run", tempfile.gettempdir(), str(Path.home()))
found = any(Path(place, NAME).exists() for place in PLACES)
for place in PLACES:
    with contextlib.suppress(OSError):
        path = Path(place, NAME)
        if found:
            path.unlink()
        else:
            path.write_text("answers")


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x.to(tl.float32) + y.to(tl.float32), mask=inside)


def vector_add(x, y, out):
    if not found:
        out.zero_()
        return
    n = out.numel()
    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
