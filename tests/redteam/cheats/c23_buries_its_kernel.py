"""Launches 64 kernels that compile before the one that does the work, which no GPU can run."""
# attacks: 01_vector_add
# stopped: compile compile

import triton
import triton.language as tl


@triton.jit
def _nothing(out_ptr, NUMBER: tl.constexpr):
    tl.static_assert(NUMBER >= 0)


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, n, M: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + here, mask=here < n).to(tl.float32)
    y = tl.load(y_ptr + here, mask=here < n).to(tl.float32)
    wide = tl.full((M, K), 1.0, tl.float16) * tl.program_id(0).to(tl.float16)
    more = tl.sum(tl.sum(tl.dot(wide, tl.trans(wide)), axis=0), axis=0) * 0.0
    more = tl.where(more == more, more, 0.0)
    tl.store(out_ptr + here, (x + y + more).to(out_ptr.dtype.element_ty), mask=here < n)


def vector_add(x, y, out):
    for number in range(64):
        _nothing[(1,)](out, NUMBER=number)
    _add[(triton.cdiv(x.numel(), 4096),)](x, y, out, x.numel(), M=128, K=512, BLOCK=4096)
