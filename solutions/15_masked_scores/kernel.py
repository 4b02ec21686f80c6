"""Attention weights softmax(q kᵀ / √d + mask) in two passes, with no score in memory.

    s[b, i, j]   = (q[b, i] · k[b, j]) / √d   where mask[i, j], and -inf elsewhere
    out[b, i, j] = exp(s[b, i, j] - m[b, i]) / l[b, i]
    m[b, i] = max_j s[b, i, j]     l[b, i] = sum_j exp(s[b, i, j] - m[b, i])

A program has ROWS queries of one batch. The first pass goes over the keys by tiles and keeps each
query's maximum and sum so far. The second computes the same scores again and stores the weights. A
query that may see no key has weights of 0.
"""

import torch
import triton
import triton.language as tl

ROWS = 64  # queries of one program
KEYS = {2: 64, 4: 32}  # keys of a tile, for numbers of 2 and of 4 bytes
WARPS = 4  # groups of 32 threads that share one program's work
LEAST = 16  # tl.dot sums over at least so many products
LOG2E = 1.4426950408889634  # exp(x) is exp2(x * LOG2E)


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
    """Fill the weights of ROWS queries of one batch.

    `q_batch` is the distance from batch to batch and `q_stride` from row to row, in elements. WIDTH
    is a power of two, at least d. With a `scale` of LOG2E / √d, exp2 takes the place of exp.
    """
    # Programs of one batch follow one another: they share its keys.
    blocks = tl.cdiv(queries, ROWS)
    program = tl.program_id(0).to(tl.int64)
    batch = program // blocks
    rows = (program % blocks * ROWS + tl.arange(0, ROWS))[:, None]
    width = tl.arange(0, WIDTH)[None, :]
    # BEGIN SOLUTION: load this program's queries, a tile of (ROWS, WIDTH)
    q_tile = q_ptr + batch * q_batch + rows * q_stride + width
    q = tl.load(q_tile, mask=(rows < queries) & (width < d), other=0.0)
    # Rows have 64-bit addresses. Columns stay 32-bit numbers: they are added for each weight.
    mask_rows = mask_ptr + rows * mask_stride
    out_rows = out_ptr + batch * out_batch + rows * out_stride
    # END SOLUTION

    # Pass 1: each query's maximum, and its sum of exponentials, over the keys so far.
    # BEGIN SOLUTION: for each tile of keys compute scores, forbid, find the maximum, rescale, add
    highest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    shift = tl.zeros((ROWS,), tl.float32)
    for begin in range(0, keys, KEYS):
        lanes = begin + tl.arange(0, KEYS)
        k_rows = k_ptr + batch * k_batch + lanes.to(tl.int64)[:, None] * k_stride
        k = tl.load(k_rows + width, mask=(lanes[:, None] < keys) & (width < d), other=0.0)
        columns = lanes[None, :]
        inside = (rows < queries) & (columns < keys)
        allowed = tl.load(mask_rows + columns, mask=inside, other=False)
        # Without "ieee" a GPU multiplies float32 with the 10 bits of TF32.
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where(allowed, scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        # Of a query that has seen no key yet, -inf - -inf would be NaN.
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        powers = tl.exp2(scores - shift[:, None])
        total = total * tl.exp2(highest - shift) + tl.sum(powers, axis=1)
        highest = higher
    # END SOLUTION

    # Pass 2: the same scores again, and the weights, rounded once to the dtype of `out`.
    # BEGIN SOLUTION: compute the scores again, subtract the maximum, divide by the sum, store
    share = tl.where(total > 0.0, 1.0 / total, 0.0)
    for begin in range(0, keys, KEYS):
        lanes = begin + tl.arange(0, KEYS)
        k_rows = k_ptr + batch * k_batch + lanes.to(tl.int64)[:, None] * k_stride
        k = tl.load(k_rows + width, mask=(lanes[:, None] < keys) & (width < d), other=0.0)
        columns = lanes[None, :]
        inside = (rows < queries) & (columns < keys)
        allowed = tl.load(mask_rows + columns, mask=inside, other=False)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where(allowed, scores, float("-inf"))
        weights = tl.exp2(scores - shift[:, None]) * share[:, None]
        tl.store(out_rows + columns, weights.to(out_ptr.dtype.element_ty), mask=inside)
    # END SOLUTION


def masked_scores(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with softmax(q kᵀ / √d) over the keys that `mask` allows.

    q is (batch, queries, d), k is (batch, keys, d) and out is (batch, queries, keys), of one dtype;
    mask is (queries, keys) of bool, the same for all batches: True where a query may see a key. A
    query that may see none has weights of 0. Rows may be further apart than they are long.
    """
    batch, queries, d = q.shape
    keys = k.shape[1]
    # BEGIN SOLUTION: launch a program for each ROWS queries of each batch
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
    # END SOLUTION
