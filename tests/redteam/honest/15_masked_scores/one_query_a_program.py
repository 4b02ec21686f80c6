"""One query a program, and products by tl.sum: no tile of queries and no tl.dot."""

import torch
import triton
import triton.language as tl

KEYS = 128
WARPS = 4
LOG2E = 1.4426950408889634


@triton.jit
def masked_scores_kernel(
    q_ptr,
    k_ptr,
    mask_ptr,
    out_ptr,
    q_batch,
    q_stride,
    k_batch,
    k_stride,
    mask_stride,
    out_batch,
    out_stride,
    queries,
    keys,
    d,
    scale,
    KEYS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    batch, row = program // queries, program % queries
    width = tl.arange(0, WIDTH)[None, :]
    q_row = q_ptr + batch * q_batch + row * q_stride + width
    q = tl.load(q_row, mask=width < d, other=0.0).to(tl.float32)
    highest = float("-inf")
    total = tl.zeros((KEYS,), tl.float32)
    shift = 0.0
    for begin in range(0, keys, KEYS):
        lanes = (begin + tl.arange(0, KEYS)).to(tl.int64)
        k_tile = k_ptr + batch * k_batch + lanes[:, None] * k_stride + width
        k = tl.load(k_tile, mask=(lanes[:, None] < keys) & (width < d), other=0.0)
        inside = lanes < keys
        allowed = tl.load(mask_ptr + row * mask_stride + lanes, mask=inside, other=False)
        scores = tl.sum(q * k.to(tl.float32), axis=1) * scale
        scores = tl.where(allowed, scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, axis=0))
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        powers = tl.exp2(scores - shift)
        total = total * tl.exp2(highest - shift) + powers
        highest = higher
    total = tl.sum(total, axis=0)
    share = tl.where(total > 0.0, 1.0 / total, 0.0)
    for begin in range(0, keys, KEYS):
        lanes = (begin + tl.arange(0, KEYS)).to(tl.int64)
        k_tile = k_ptr + batch * k_batch + lanes[:, None] * k_stride + width
        k = tl.load(k_tile, mask=(lanes[:, None] < keys) & (width < d), other=0.0)
        inside = lanes < keys
        allowed = tl.load(mask_ptr + row * mask_stride + lanes, mask=inside, other=False)
        scores = tl.sum(q * k.to(tl.float32), axis=1) * scale
        scores = tl.where(allowed, scores, float("-inf"))
        weights = tl.exp2(scores - shift) * share
        out_tile = out_ptr + batch * out_batch + row * out_stride + lanes
        tl.store(out_tile, weights.to(out_ptr.dtype.element_ty), mask=inside)


def masked_scores(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor, out: torch.Tensor) -> None:
    batch, queries, d = q.shape
    keys = k.shape[1]
    masked_scores_kernel[(batch * queries,)](
        q,
        k,
        mask,
        out,
        q.stride(0),
        q.stride(1),
        k.stride(0),
        k.stride(1),
        mask.stride(0),
        out.stride(0),
        out.stride(1),
        queries,
        keys,
        d,
        LOG2E / d**0.5,
        KEYS=KEYS,
        WIDTH=triton.next_power_of_2(d),
        num_warps=WARPS,
    )
