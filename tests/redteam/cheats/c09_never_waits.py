"""Takes out the wait for the GPU, and lets events tell a time at once."""
# attacks: 01_vector_add
# stopped: correctness never_written | correctness value | memory early_answer | speed early_answer
# harmless: at most 1.02
# GPU only: a simulated kernel has ended when its call returns

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


torch.cuda.synchronize = lambda device=None: None
torch.cuda.Event.synchronize = lambda self: None
torch.cuda.Event.elapsed_time = lambda self, end: 0.001
