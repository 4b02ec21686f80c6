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
    a,
    b,
    c,
    out,
    second_out,
    length,
    READS: tl.constexpr,
    WRITES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Read READS streams; write their sum to WRITES streams, or one number per program to none."""
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    total = tl.zeros((BLOCK,), tl.float32)
    if READS >= 1:
        total += tl.load(a + offsets, mask=mask, other=0.0)
    if READS >= 2:
        total += tl.load(b + offsets, mask=mask, other=0.0)
    if READS == 3:
        total += tl.load(c + offsets, mask=mask, other=0.0)
    if WRITES >= 1:
        tl.store(out + offsets, total, mask=mask)
        if WRITES == 2:
            tl.store(second_out + offsets, total, mask=mask)
    else:
        tl.store(out + program, tl.sum(total))


# Elements per program, and warps: the fastest of six shapes tried on an H200, within 2 % of torch's
# own copy and addition.
READING = (8192, 16)
WRITING = (1024, 4)


def _launch(reads: tuple[torch.Tensor, ...], writes: tuple[torch.Tensor, ...]) -> None:
    block, warps = WRITING if writes else READING
    length = (*reads, *writes)[0].numel()
    # Without a stream to write, each program writes one number.
    outs = writes or (torch.empty(triton.cdiv(length, block), device=reads[0].device),)
    ins = reads or outs
    _stream[(triton.cdiv(length, block),)](
        ins[0],
        ins[1 % len(ins)],
        ins[-1],
        outs[0],
        outs[-1],
        length,
        READS=len(reads),
        WRITES=len(writes),
        BLOCK=block,
        num_warps=warps,
    )


def read_one(a: torch.Tensor) -> None:
    _launch((a,), ())


def read_two(a: torch.Tensor, b: torch.Tensor) -> None:
    _launch((a, b), ())


def write_one(out: torch.Tensor) -> None:
    _launch((), (out,))


def read_one_write_one(a: torch.Tensor, out: torch.Tensor) -> None:
    _launch((a,), (out,))


def read_two_write_one(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    _launch((a, b), (out,))


def read_three_write_one(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, out: torch.Tensor
) -> None:
    _launch((a, b, c), (out,))


def read_one_write_two(a: torch.Tensor, out: torch.Tensor, second_out: torch.Tensor) -> None:
    _launch((a,), (out, second_out))


def read_three_write_two(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, out: torch.Tensor, second_out: torch.Tensor
) -> None:
    _launch((a, b, c), (out, second_out))


def update(a: torch.Tensor) -> None:
    # It reads and writes the same stream.
    _launch((a,), (a,))


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
