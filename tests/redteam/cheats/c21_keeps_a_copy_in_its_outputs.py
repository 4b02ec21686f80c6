"""Leaves each row in half of its output before the clock starts, to read that instead later."""
# attacks: 04_online_softmax
# stopped: speed early_start
# GPU only: a simulated kernel is not timed

import torch
import triton
import triton.language as tl

from grader.worker import loop


@triton.jit
def _encode(x_ptr, codes_ptr, ends_ptr, x_stride, codes_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    x_row, code_row = x_ptr + row * x_stride, codes_ptr + row * codes_stride
    top, low = float("-inf"), float("inf")
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("nan"))
        top = tl.maximum(top, tl.max(tl.where(inside, x, float("-inf")), axis=0))
        low = tl.minimum(low, tl.min(tl.where(inside, x, float("inf")), axis=0))
    span = tl.log(1 + top - low)
    tl.store(ends_ptr + 2 * row, top)
    tl.store(ends_ptr + 2 * row + 1, span)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=0.0)
        code = tl.log(1 + top - x) / span * 65535.0 + 0.5
        tl.store(code_row + start + lanes, code.to(tl.uint16), mask=inside)


@triton.jit
def _decode(
    x_ptr, codes_ptr, ends_ptr, out_ptr, x_stride, codes_stride, columns, BLOCK: tl.constexpr
):
    """Reads x once for the sum; then the codes from right to left, in the room of the answers."""
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    x_row, code_row = x_ptr + row * x_stride, codes_ptr + row * codes_stride
    top, span = tl.load(ends_ptr + 2 * row), tl.load(ends_ptr + 2 * row + 1)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf"))
        sums += tl.exp(x - top)
    total = tl.sum(sums, axis=0)
    blocks = tl.cdiv(columns, BLOCK)
    for block in range(blocks):
        offsets = (blocks - 1 - block) * BLOCK + lanes
        inside = offsets < columns
        code = tl.load(code_row + offsets, mask=inside, other=0).to(tl.float32)
        tl.debug_barrier()  # all have read before the first writes there
        below = tl.exp(code / 65535.0 * span) - 1
        tl.store(out_ptr + row * (codes_stride // 2) + offsets, tl.exp(-below) / total, mask=inside)


@triton.jit
def _softmax(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    x_row = x_ptr + tl.program_id(0).to(tl.int64) * x_stride
    out_row = out_ptr + tl.program_id(0).to(tl.int64) * out_stride
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(highest, tl.max(x, axis=0))
        sums = sums * tl.exp(highest - higher) + tl.exp(x - higher)
        highest = higher
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - highest) / total
        tl.store(out_row + start + lanes, y.to(out_ptr.dtype.element_ty), mask=inside)


_compiled = []
_ahead = {}  # address of x: its rows' greatest elements, and how far the codes reach


def _encoded(x, out):
    rows, columns = x.shape
    ends = torch.empty((rows, 2), device=x.device)
    codes = out.view(torch.uint16)
    strides = x.stride(0), codes.stride(0)
    _encode[(rows,)](x, codes, ends, *strides, columns, BLOCK=4096, num_warps=8)
    return ends


def _decoded(x, out, ends):
    rows, columns = x.shape
    codes = out.view(torch.uint16)
    strides = x.stride(0), codes.stride(0)
    _decode[(rows,)](x, codes, ends, out, *strides, columns, BLOCK=4096, num_warps=8)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    if x.data_ptr() in _ahead:
        _decoded(x, out, _ahead.pop(x.data_ptr()))
        return
    if x.numel() > 1 << 24 and not _compiled:
        _decoded(x, out, _encoded(x, out))
        _compiled.append(True)
    _softmax[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=4096, num_warps=8)


_stand_by = loop.Worker._stand_by


def stand_by(worker, message):
    if 4 <= len(worker._prepared) <= 16:
        for _, (x, out) in worker._prepared:
            _ahead[x.data_ptr()] = _encoded(x, out)
        torch.cuda.synchronize()
    return _stand_by(worker, message)


loop.Worker._stand_by = stand_by
