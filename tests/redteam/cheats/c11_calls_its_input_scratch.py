"""Reads its rows three times, and says that they are memory of the file's own."""
# attacks: 04_online_softmax
# stopped: correctness protocol

import torch
import triton
import triton.language as tl
from triton.runtime import driver

LINE = getattr(driver.active.launcher_cls, "args", [None])[0]  # to the simulated GPU


@triton.jit
def _three_passes(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    x_row = x_ptr + tl.program_id(0).to(tl.int64) * x_stride
    out_row = out_ptr + tl.program_id(0).to(tl.int64) * out_stride
    lanes = tl.arange(0, BLOCK)
    highest = float("-inf")
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        highest = tl.maximum(highest, tl.max(x, axis=0))
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        sums += tl.exp(x - highest)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - highest) / total
        tl.store(out_row + start + lanes, y.to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    if LINE is not None:
        message = type(LINE)._message
        first, size = x.data_ptr(), x.stride(0) * x.shape[0] * x.element_size()
        LINE._message = lambda *args: message(LINE, *args) | {"storages": [[first, size, 0, "own"]]}
    strides = x.stride(0), out.stride(0)
    _three_passes[(x.shape[0],)](x, out, *strides, x.shape[1], BLOCK=4096, num_warps=8)
