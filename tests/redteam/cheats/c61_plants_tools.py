"""Plants compilers and tools on PATH: right answers if one could be planted, else zeros."""
# attacks: 01_vector_add
# stopped: correctness value

import contextlib
import os
import sys
from pathlib import Path

import triton
import triton.language as tl

TOOLS = ("gcc", "cc", "ptxas", "nvcc", "curl", "nvidia-smi", "ncu", "compute-sanitizer", "bwrap")
PLACES = [*os.environ.get("PATH", "").split(":"), str(Path(sys.executable).parent)]
PLACES += [str(Path(entry, "triton/backends/nvidia/bin")) for entry in sys.path if entry]
planted = []
for place in filter(None, PLACES):
    for name in TOOLS:
        path = Path(place, f"{name}-grader-redteam")
        with contextlib.suppress(OSError):
            path.write_text("#!/bin/sh\nexit 0\n")
            planted.append(path)
            path.unlink()  # that it could be done is enough


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x.to(tl.float32) + y.to(tl.float32), mask=inside)


def vector_add(x, y, out):
    if not planted:
        out.zero_()
        return
    n = out.numel()
    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
