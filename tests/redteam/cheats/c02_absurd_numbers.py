"""Reads its rows three times, and sends counts too large for a floating-point number."""
# attacks: 04_online_softmax
# stopped: traffic protocol

import triton
import triton.language as tl

from grader.model.messages import Reply


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


_dump = Reply.dump


def dump(reply):
    told = _dump(reply)
    if told["counts"]:
        told["counts"] = dict.fromkeys(told["counts"], 10**400)
        told["peak"] = -(10**400)
    return told


Reply.dump = dump


def softmax(x, out):
    x.amax(-1)
    x.sum(-1)
    honest(x, out)
