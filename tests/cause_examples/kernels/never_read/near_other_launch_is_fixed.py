"""The second launch has one program, as it should; it is the first that leaves elements out."""
# copy 12
# says written_out[(1,)]

import torch
import triton
import triton.language as tl

MOST = 2


@triton.jit
def kept(x, scratch, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(scratch + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def written_out(scratch, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(scratch + lanes, mask=lanes < n), mask=lanes < n)


def run(x, out):
    n = x.numel()
    programs = min(MOST, triton.cdiv(n, 4))
    scratch = torch.zeros(n, dtype=torch.float32, device=x.device)
    kept[(programs,)](x, scratch, n, BLOCK=4)
    written_out[(1,)](scratch, out, n, BLOCK=16)
