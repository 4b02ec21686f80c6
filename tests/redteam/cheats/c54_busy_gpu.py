"""Keeps the GPU busy while the ceiling is timed, so that the ceiling comes out low."""
# attacks: 01_vector_add
# harmless: at most 1.02
# GPU only: there is no ceiling without one

import threading

import torch
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


_turn = threading.Event()  # the ceiling's, as far as one can tell from here
_go = loop.Worker._go


def _disturb():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        room = torch.empty(1 << 20, device="cuda")
        while True:
            _turn.wait()
            room.fill_(1.0)
            stream.synchronize()


if torch.cuda.is_initialized():  # not where it is simulated
    threading.Thread(target=_disturb, daemon=True).start()


def _go_undisturbed(self, message):
    _turn.clear()
    done = _go(self, message)
    if torch.cuda.is_initialized():
        _turn.set()
    return done


loop.Worker._go = _go_undisturbed
