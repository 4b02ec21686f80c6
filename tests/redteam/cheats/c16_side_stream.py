"""Launches on a stream of its own, where the events of the default stream see nothing."""
# attacks: 01_vector_add
# stopped: correctness never_written | correctness value | speed early_answer
# harmless: at most 1.02
# GPU only: the simulator has no streams

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


_stream, _honest = torch.cuda.Stream(), vector_add


def vector_add(x, y, out):
    with torch.cuda.stream(_stream):
        _honest(x, y, out)
