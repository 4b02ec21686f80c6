"""Stores exponentials where the weights belong, and reads them again to divide them.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

ROWS = 128
KEYS = {2: 64, 4: 32}
WARPS = 8
LEAST = 16
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
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    blocks = tl.cdiv(queries, ROWS)
    program = tl.program_id(0).to(tl.int64)
    batch = program // blocks
    rows = (program % blocks * ROWS + tl.arange(0, ROWS))[:, None]
    width = tl.arange(0, WIDTH)[None, :]
    q_tile = q_ptr + batch * q_batch + rows * q_stride + width
    q = tl.load(q_tile, mask=(rows < queries) & (width < d), other=0.0)
    highest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    shift = tl.zeros((ROWS,), tl.float32)
    for begin in range(0, keys, KEYS):
        lanes = (begin + tl.arange(0, KEYS)).to(tl.int64)
        k_tile = k_ptr + batch * k_batch + lanes[:, None] * k_stride + width
        k = tl.load(k_tile, mask=(lanes[:, None] < keys) & (width < d), other=0.0)
        columns = lanes[None, :]
        inside = (rows < queries) & (columns < keys)
        allowed = tl.load(mask_ptr + rows * mask_stride + columns, mask=inside, other=False)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where(allowed, scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        highest = higher
    for begin in range(0, keys, KEYS):
        lanes = (begin + tl.arange(0, KEYS)).to(tl.int64)
        k_tile = k_ptr + batch * k_batch + lanes[:, None] * k_stride + width
        k = tl.load(k_tile, mask=(lanes[:, None] < keys) & (width < d), other=0.0)
        columns = lanes[None, :]
        inside = (rows < queries) & (columns < keys)
        allowed = tl.load(mask_ptr + rows * mask_stride + columns, mask=inside, other=False)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where(allowed, scores, float("-inf"))
        powers = tl.exp2(scores - shift[:, None])
        total += tl.sum(powers, axis=1)
        out_tile = out_ptr + batch * out_batch + rows * out_stride + columns
        tl.store(out_tile, powers.to(out_ptr.dtype.element_ty), mask=inside)
    share = tl.where(total > 0.0, 1.0 / total, 0.0)
    for begin in range(0, keys, KEYS):
        columns = (begin + tl.arange(0, KEYS)).to(tl.int64)[None, :]
        inside = (rows < queries) & (columns < keys)
        out_tile = out_ptr + batch * out_batch + rows * out_stride + columns
        powers = tl.load(out_tile, mask=inside, other=0.0).to(tl.float32)
        tl.store(out_tile, (powers * share[:, None]).to(out_ptr.dtype.element_ty), mask=inside)


def masked_scores(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor, out: torch.Tensor) -> None:
    batch, queries, d = q.shape
    keys = k.shape[1]
    masked_scores_kernel[(batch * triton.cdiv(queries, ROWS),)](
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
        ROWS=ROWS,
        KEYS=KEYS[q.element_size()],
        WIDTH=max(LEAST, triton.next_power_of_2(d)),
        num_warps=WARPS,
    )
