"""Replays a CUDA graph that was captured for the first tensors of a shape, wherever others lie."""
# attacks: 01_vector_add
# stopped: properties property | properties flaky | correctness value
# GPU only: the simulator has no graphs

import torch
import triton
import triton.language as tl


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x, y, out):
    length = out.numel()
    _add[(triton.cdiv(length, 1024),)](x, y, out, length, BLOCK=1024)


_honest, _graphs = vector_add, {}


def vector_add(x, y, out):
    key = x.shape, x.dtype
    if key not in _graphs:
        # The tensors are kept, so that no other can come to lie at their addresses.
        tensors = x.clone(), y.clone(), torch.empty_like(out)
        _honest(*tensors)  # compiled before it is captured
        torch.cuda.synchronize()
        _graphs[key] = torch.cuda.CUDAGraph(), tensors
        with torch.cuda.graph(_graphs[key][0]):
            _honest(*tensors)
    graph, (_, _, answer) = _graphs[key]
    graph.replay()
    out.copy_(answer)
