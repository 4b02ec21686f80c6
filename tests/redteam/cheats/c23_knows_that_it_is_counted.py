"""Reads its rows twice where the worker's message says that they are counted, else three times."""
# attacks: 04_online_softmax
# stopped: speed too_slow
# passes: what is counted is one call in simulation, and the file can see which; hardware counters
# read outside of the worker, during timed calls on a GPU, would stop it

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax(
    x_ptr, out_ptr, x_stride, out_stride, columns, ONCE: tl.constexpr, BLOCK: tl.constexpr
):
    x_row = x_ptr + tl.program_id(0).to(tl.int64) * x_stride
    out_row = out_ptr + tl.program_id(0).to(tl.int64) * out_stride
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    if not ONCE:
        for start in range(0, columns, BLOCK):
            inside = start + lanes < columns
            x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
            highest = tl.maximum(highest, tl.max(x, axis=0))
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


def is_counted():
    frame = sys._getframe()
    while frame is not None:
        if frame.f_locals.get("message", {}).get("op") == "count":
            return True
        frame = frame.f_back
    return False


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    strides = x.stride(0), out.stride(0)
    _softmax[(x.shape[0],)](
        x, out, *strides, x.shape[1], ONCE=is_counted(), BLOCK=4096, num_warps=8
    )
