"""Dawdles in its first calls, so that the judge would measure fewer of them."""
# attacks: 01_vector_add
# stopped: speed too_slow
# harmless: at most 1.02
# GPU only: a simulated kernel is not timed

import time

import triton
import triton.language as tl


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x, y, out):
    length = out.numel()
    _add[(triton.cdiv(length, 1024),)](x, y, out, length, BLOCK=1024)


_honest, _large = vector_add, []


def vector_add(x, y, out):
    _honest(x, y, out)
    if x.numel() > 1 << 24 and len(_large) < 3:
        _large.append(x)
        time.sleep(0.5)
