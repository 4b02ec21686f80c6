"""Claims that its calls took no time at all, or less than a number can hold."""
# attacks: 01_vector_add
# harmless: at most 1.02
# GPU only: no time is told without one

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


_go = loop.Worker._go


def _go_in_no_time(self, message):
    done = _go(self, message)
    return done | {
        "seconds": tuple(0.0 if at % 2 else 5e-324 for at, _ in enumerate(done["seconds"]))
    }


loop.Worker._go = _go_in_no_time
