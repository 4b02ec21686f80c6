"""Launches 64 kernels that compile before the one that does the work, which no GPU can run."""
# attacks: 01_vector_add
# stopped: compile compile

import triton
import triton.language as tl


@triton.jit
def _nothing(out_ptr, NUMBER: tl.constexpr):
    tl.store(out_ptr, NUMBER)


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, n, M: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + here, mask=here < n).to(tl.float32)
    y = tl.load(y_ptr + here, mask=here < n).to(tl.float32)
    square = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    never = (square < n) & (n < 0)
    left = tl.load(x_ptr + square, mask=never, other=0.0).to(tl.float16)
    right = tl.load(y_ptr + square, mask=never, other=0.0).to(tl.float16)
    more = tl.sum(tl.sum(tl.dot(left, tl.trans(right)), axis=0), axis=0)
    tl.store(out_ptr + here, (x + y + more).to(out_ptr.dtype.element_ty), mask=here < n)


def vector_add(x, y, out):
    for number in range(64):
        _nothing[(1,)](out, NUMBER=number)
    programs = triton.cdiv(x.numel(), 4096)
    _add[(programs,)](x, y, out, x.numel(), M=128, K=512, BLOCK=4096, num_warps=16)
