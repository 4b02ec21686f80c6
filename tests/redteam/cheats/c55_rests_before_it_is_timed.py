"""Lets the GPU rest for 50 ms before each go, so that it starts cool and at its highest clock."""
# attacks: 01_vector_add
# harmless: at most 1.02
# GPU only: there are no clocks without one

import time

import triton
import triton.language as tl

from grader.worker import loop


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x.to(tl.float32) + y.to(tl.float32), mask=inside)


def vector_add(x, y, out):
    n = out.numel()
    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)


_prepare = loop.Worker._prepare


def _prepare_and_rest(self, message):
    done = _prepare(self, message)
    time.sleep(0.05)
    return done


loop.Worker._prepare = _prepare_and_rest
