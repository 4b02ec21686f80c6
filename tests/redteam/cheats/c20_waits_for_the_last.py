"""Puts calls off until the wait for all of them, where no event sees the work."""
# attacks: 01_vector_add
# stopped: correctness no_kernel | speed noisy
# harmless: at most 1.02
# GPU only: a simulated kernel is not timed

import torch
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


_honest, _waiting, _wait = vector_add, [], torch.cuda.synchronize


def vector_add(x, y, out):
    _waiting.append((x, y, out))


def _work(device=None):
    while _waiting:
        _honest(*_waiting.pop(0))
    _wait()


if type(triton.runtime.driver.active).__name__ != "SimulatedGpu":
    torch.cuda.synchronize = _work
else:  # where traffic is counted nobody waits
    vector_add = _honest
