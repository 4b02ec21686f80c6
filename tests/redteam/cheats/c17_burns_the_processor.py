"""Keeps the processor's cores busy while the trusted kernel is timed, and claims 10 % less time."""
# attacks: 01_vector_add
# stopped: speed noisy
# harmless: at most 1.02
# GPU only: a simulated kernel is not timed

import mmap
import os
import time

import torch
import triton
import triton.language as tl

from grader.worker import loop


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


_mine = mmap.mmap(-1, 1)  # shared with the children: 1 while this file's own kernel is timed
_honest, _busy = vector_add, []
_elapsed, _prepare, _go = torch.cuda.Event.elapsed_time, loop.Worker._prepare, loop.Worker._go


def prepare(worker, message):
    _mine[0] = 1
    time.sleep(0.01)
    return _prepare(worker, message)


def go(worker, message):
    told = _go(worker, message)
    _mine[0] = 0
    return told


def spin():
    while True:
        if _mine[0]:
            time.sleep(0.001)


def vector_add(x, y, out):
    _honest(x, y, out)
    if x.numel() > 1 << 24 and not _busy:
        for _ in range(2 * (os.cpu_count() or 1)):
            _busy.append(os.fork())
            if _busy[-1] == 0:
                spin()


loop.Worker._prepare, loop.Worker._go = prepare, go
torch.cuda.Event.elapsed_time = lambda self, end: 0.9 * _elapsed(self, end)
