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
    # TODO: load this program's queries, a tile of (ROWS, WIDTH)
    pass

    # Pass 1: each query's maximum, and its sum of exponentials, over the keys so far.
    # TODO: for each tile of keys compute scores, forbid, find the maximum, rescale, add
    pass

    # Pass 2: the same scores again, and the weights, rounded once to the dtype of `out`.
    # TODO: compute the scores again, subtract the maximum, divide by the sum, store
    pass


def masked_scores(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with softmax(q kᵀ / √d) over the keys that `mask` allows.

    q is (batch, queries, d), k is (batch, keys, d) and out is (batch, queries, keys), of one dtype;
    mask is (queries, keys) of bool, the same for all batches: True where a query may see a key. A
    query that may see none has weights of 0. Rows may be further apart than they are long.
    """
    batch, queries, d = q.shape
    keys = k.shape[1]
    raise NotImplementedError(
        "15_masked_scores: launch a program for each ROWS queries of each batch"
    )
