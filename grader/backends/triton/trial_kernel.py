"""A small Triton kernel: `grader doctor` runs it, and the bound `latency` times it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit  # type: ignore[untyped-decorator]
def _add(a, b, out, length, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    tl.store(out + offsets, tl.load(a + offsets, mask=mask) + tl.load(b + offsets, mask=mask), mask)


def add(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    length = out.numel()
    _add[(triton.cdiv(length, BLOCK),)](a, b, out, length, BLOCK=BLOCK)
