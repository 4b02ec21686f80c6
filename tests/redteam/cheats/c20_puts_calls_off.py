"""Puts each call off until the next one, so that two could be done in one launch."""
# attacks: 01_vector_add
# stopped: correctness never_written

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


_waiting = []


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    _waiting.append((x, y, out))
    while len(_waiting) > 1:
        first, second, third = _waiting.pop(0)
        _add[(triton.cdiv(len(third), 1024),)](first, second, third, len(third), BLOCK=1024)
