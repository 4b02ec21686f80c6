"""Reads and writes whole blocks, past the end of the tensors: a neighbour's memory is there."""
# attacks: 01_vector_add
# stopped: correctness out_of_bounds | correctness stray_write

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + offsets).to(tl.float32) + tl.load(y_ptr + offsets).to(tl.float32)
    tl.store(out_ptr + offsets, total)


def vector_add(x, y, out):
    add[(triton.cdiv(out.numel(), 1024),)](x, y, out, BLOCK=1024)
