"""Queues its work behind a wait on the GPU for the inputs, so that it is done before the clock."""
# attacks: 01_vector_add
# stopped: speed early_start
# GPU only: a simulated kernel has ended when its call returns

import ctypes
import functools

import torch
import triton
import triton.language as tl

from grader.worker import loop

ANY_BIT_OF = 2  # CU_STREAM_WAIT_VALUE_AND
FILL_CYCLES = 1_000_000  # of the GPU's clock, half a millisecond: until all of an output is filled


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    length = out.numel()
    _add[(triton.cdiv(length, 1024),)](x, y, out, length, BLOCK=1024)


@functools.cache
def _stream() -> torch.cuda.Stream:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1)  # what has to be loaded for it cannot be behind a wait
    stream.synchronize()
    return stream


def _last_word(out: torch.Tensor) -> torch.Tensor:
    return out.view(torch.int32)[-1:]


def _add_when_filled(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    """The judge fills an output last, with the bits of a NaN. Its last word is zero until then."""
    failed = ctypes.CDLL("libcuda.so.1").cuStreamWaitValue32_v2(
        ctypes.c_void_p(_stream().cuda_stream),
        ctypes.c_uint64(_last_word(out).data_ptr()),
        ctypes.c_uint32(0xFFFFFFFF),
        ctypes.c_uint(ANY_BIT_OF),
    )
    assert not failed
    with torch.cuda.stream(_stream()):
        torch.cuda._sleep(FILL_CYCLES)
        vector_add(x, y, out)


_prepare, _go, _times = loop.Worker._prepare, loop.Worker._go, loop.Worker._times
_ahead = []


def prepare(worker, message):
    _stream()
    told = _prepare(worker, message)
    calls = [arguments for _, arguments in worker._prepared]
    _ahead[:] = calls if message["op"] == "prepare" and 8 <= len(calls) <= 16 else []
    for _, _, out in _ahead:
        _last_word(out).zero_()
    torch.cuda.synchronize()
    for x, y, out in sorted(_ahead, key=lambda call: call[0].data_ptr()):  # as they are filled
        _add_when_filled(x, y, out)
    return told


def go(worker, message):
    if not _ahead:
        return _go(worker, message)
    torch.cuda.synchronize()
    return {}


def times(worker, message):
    return {"seconds": (1e-3,) * len(_ahead)} if _ahead else _times(worker, message)


loop.Worker._prepare, loop.Worker._go, loop.Worker._times = prepare, go, times
