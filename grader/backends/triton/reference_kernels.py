"""Reference kernels: they measure how fast this GPU moves bytes, and how fast torch multiplies.

A worker imports this file like a learner's: a rate includes the same overhead of the handshake.
Every tensor that is moved is float32, flat, contiguous, and of one length.
"""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def _stream(reads, writes, sums, length, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write the sum of `reads` to each of `writes`, or else each program's total to `sums`."""
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(len(reads)):
        total += tl.load(reads[i] + offsets, mask=mask, other=0.0)
    for i in tl.static_range(len(writes)):
        tl.store(writes[i] + offsets, total, mask=mask)
    if sums is not None:
        tl.store(sums + program, tl.sum(total))


# Elements per program, and warps: the fastest of six shapes tried on an H200, within 2 % of torch's
# own copy and addition.
READING = (8192, 16)
WRITING = (1024, 4)


def stream(reads: int, writes: int, *tensors: torch.Tensor) -> None:
    """Read the first `reads` tensors, write the next `writes`, and update the others in place."""
    updated = tensors[reads + writes :]
    read, written = tensors[:reads] + updated, tensors[reads:]
    block, warps = WRITING if written else READING
    length = tensors[0].numel()
    programs = triton.cdiv(length, block)
    sums = None if written else torch.empty(programs, device=tensors[0].device)
    _stream[(programs,)](read, written, sums, length, BLOCK=block, num_warps=warps)


@functools.cache
def _matrices(edge: int, dtype: torch.dtype) -> list[torch.Tensor]:
    # Random numbers: a GPU spends less on zeros, and then clocks higher.
    return [torch.randn(edge, edge, device="cuda").to(dtype) for _ in range(3)]


def _multiply(edge: int, dtype: torch.dtype) -> None:
    left, right, out = _matrices(edge, dtype)
    torch.mm(left, right, out=out)


def product_float32(edge: int) -> None:
    _multiply(edge, torch.float32)


def product_float16(edge: int) -> None:
    _multiply(edge, torch.float16)


def product_bfloat16(edge: int) -> None:
    _multiply(edge, torch.bfloat16)
