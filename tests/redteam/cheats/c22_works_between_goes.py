"""A thread computes every slot over and over, also while the judge fills it; calls do nothing."""
# attacks: 04_online_softmax
# stopped: speed wrong_at_scale | speed early_answer | speed noisy
# GPU only: a simulated kernel is not timed

import threading
import time

import torch
import triton
import triton.language as tl


@triton.jit
def _online(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
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


_known, _stream = {}, torch.cuda.Stream()


def _launch(x, out):
    strides = x.stride(0), out.stride(0)
    _online[(x.shape[0],)](x, out, *strides, x.shape[1], BLOCK=4096, num_warps=8)


def _again_and_again():
    with torch.cuda.stream(_stream):
        while True:
            for x, out in list(_known.values()):
                _launch(x, out)
            _stream.synchronize()
            time.sleep(0)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.numel() < 1 << 24 or x.data_ptr() not in _known:
        _launch(x, out)
    if x.numel() >= 1 << 24:
        if not _known:
            threading.Thread(target=_again_and_again, daemon=True).start()
        _known[x.data_ptr()] = x, out
