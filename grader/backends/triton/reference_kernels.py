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
def _stream(  # type: ignore[no-untyped-def]
    a, b, out, length, READS: tl.constexpr, WRITES: tl.constexpr, BLOCK: tl.constexpr
):
    """Read READS streams; write their sum, or only one number per program."""
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    total = tl.zeros((BLOCK,), tl.float32)
    if READS >= 1:
        total += tl.load(a + offsets, mask=mask, other=0.0)
    if READS == 2:
        total += tl.load(b + offsets, mask=mask, other=0.0)
    if WRITES == 1:
        tl.store(out + offsets, total, mask=mask)
    else:
        tl.store(out + program, tl.sum(total))


# Elements per program, and warps: the fastest of six shapes tried on an H200, within 2 % of torch's
# own copy and addition.
READING = (8192, 16)
WRITING = (1024, 4)


def _launch(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, reads: int, writes: int) -> None:
    block, warps = WRITING if writes else READING
    grid = (triton.cdiv(a.numel(), block),)
    _stream[grid](a, b, out, a.numel(), READS=reads, WRITES=writes, BLOCK=block, num_warps=warps)


def _partials(a: torch.Tensor) -> torch.Tensor:
    # One number per program.
    return torch.empty(triton.cdiv(a.numel(), READING[0]), device=a.device)


def read_one(a: torch.Tensor) -> None:
    _launch(a, a, _partials(a), 1, 0)


def read_two(a: torch.Tensor, b: torch.Tensor) -> None:
    _launch(a, b, _partials(a), 2, 0)


def write_one(out: torch.Tensor) -> None:
    _launch(out, out, out, 0, 1)


def read_one_write_one(a: torch.Tensor, out: torch.Tensor) -> None:
    _launch(a, a, out, 1, 1)


def read_two_write_one(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    _launch(a, b, out, 2, 1)


def update(a: torch.Tensor) -> None:
    # It reads and writes the same stream.
    _launch(a, a, a, 1, 1)


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
