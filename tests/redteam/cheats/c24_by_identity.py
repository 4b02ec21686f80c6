"""Keeps its answers by the identity of the tensor objects, and gives them again."""
# attacks: 04_online_softmax
# stopped: properties property | properties flaky | correctness value | memory memory

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


def honest(x, out):
    _online[(x.shape[0],)](x, out, x.stride(0), out.stride(0), x.shape[1], BLOCK=4096)


_answers = {}


def softmax(x, out):
    kept = _answers.get(id(x))
    if kept is None or kept.shape != out.shape or kept.dtype != out.dtype:
        kept = _answers[id(x)] = torch.empty_like(out)
        honest(x, kept)
    out.copy_(kept)
