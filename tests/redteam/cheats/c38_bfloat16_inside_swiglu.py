"""Computes in bfloat16 throughout, as the arguments of the scored case are."""
# attacks: 05_swiglu
# stopped: correctness value | correctness rms

import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def coarse(gate_ptr, up_ptr, out_ptr, s_gate, s_up, s_out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * s_gate + offsets, mask=inside).to(tl.bfloat16)
    up = tl.load(up_ptr + row * s_up + offsets, mask=inside).to(tl.bfloat16)
    below = (1.0 + tl.exp(-gate.to(tl.float32)).to(tl.bfloat16)).to(tl.bfloat16)
    silu = (gate.to(tl.float32) / below.to(tl.float32)).to(tl.bfloat16)
    tl.store(out_ptr + row * s_out + offsets, silu * up, mask=inside)


def swiglu(gate, up, out):
    rows, columns = out.shape
    grid = (rows, triton.cdiv(columns, BLOCK))
    strides = gate.stride(0), up.stride(0), out.stride(0)
    coarse[grid](gate, up, out, *strides, columns, BLOCK=BLOCK)
