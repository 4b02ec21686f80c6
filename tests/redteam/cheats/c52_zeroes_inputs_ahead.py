"""Sets half of the inputs to zero while nothing is timed: zeros cost a GPU less power to move."""
# attacks: 01_vector_add
# stopped: memory wrong_at_scale | speed wrong_at_scale
# GPU only: only the scored case is laid out several times before it is timed

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


LARGE = 1 << 22
_prepare = loop.Worker._prepare


def _prepare_and_erase(self, message):
    """Once more the judge's message, then zeros into the second half of what it asks for."""
    done = _prepare(self, message)
    for _, arguments in self._prepared:
        for argument in arguments[:2]:
            if argument.numel() >= LARGE:
                argument[argument.numel() // 2 :].zero_()
    if torch.cuda.is_initialized():  # not where it is simulated
        torch.cuda.synchronize()
    return done


loop.Worker._prepare = _prepare_and_erase
