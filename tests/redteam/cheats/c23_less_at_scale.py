"""Leaves out the last hundredth of the elements once tensors are as large as the scored ones."""
# attacks: 01_vector_add
# stopped: memory wrong_at_scale | speed wrong_at_scale
# GPU only: only the speed step has tensors so large

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
    if length > 1 << 24:
        length -= length // 100
    _add[(triton.cdiv(length, 1024),)](x, y, out, length, BLOCK=1024)
