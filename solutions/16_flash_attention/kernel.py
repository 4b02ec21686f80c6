"""Flash attention: softmax(q kᵀ / √dimension) v with a causal mask, and no matrix of scores.

    score[i, j] = (sum_c q[i, c] * k[j, c]) / sqrt(dimension)    for j <= i
    out[i]      = sum_j exp(score[i, j]) * v[j] / sum_j exp(score[i, j])

A program has a block of queries of one head. It goes through the keys up to its last query, and
keeps a running maximum, a running sum and a running output for each query.
"""

import math

import torch
import triton
import triton.language as tl

# Queries of a program, and keys that it takes at a time, by the bytes of a number.
TILES = {2: (128, 64), 4: (64, 16)}
WARPS = 8  # groups of 32 threads that share one program's work
LEAST = 16  # extent of a tile that tl.dot multiplies, at least
LOG2_E = math.log2(math.e)


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    q_stride,
    k_stride,
    v_stride,
    out_stride,
    tokens,
    dimension,
    scale,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    DIMENSION: tl.constexpr,
):
    """Fill the output rows of QUERIES tokens of one head.

    The strides are in elements, from a token to the next. All tokens of a head, and then those of
    the next head, follow one another. DIMENSION is a power of two, `dimension` or more.
    """
    columns = tl.arange(0, DIMENSION)
    # BEGIN SOLUTION: find head and queries; loop over keys; rescale, add up; divide and store
    blocks = tl.cdiv(tokens, QUERIES)
    # The last queries have most keys: their programs begin first.
    first = (blocks - 1 - tl.program_id(0) % blocks) * QUERIES
    start = (tl.program_id(0) // blocks).to(tl.int64) * tokens
    queries = first + tl.arange(0, QUERIES)
    filled = columns < dimension
    inside = (queries < tokens)[:, None] & filled[None, :]
    q_rows = (start + queries)[:, None]
    q = tl.load(q_ptr + q_rows * q_stride + columns[None, :], mask=inside, other=0.0)
    highest = tl.full((QUERIES,), float("-inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    mixed = tl.zeros((QUERIES, DIMENSION), tl.float32)
    # Keys before `seen` come before all queries. Only the blocks from there to `end` need a mask.
    seen = first // KEYS * KEYS
    end = tl.minimum(first + QUERIES, tokens)
    for diagonal in tl.static_range(2):  # from 0 to `seen`, then from `seen` to `end`
        for begin in range(seen * diagonal, seen + (end - seen) * diagonal, KEYS):
            keys = begin + tl.arange(0, KEYS)
            k_rows = (start + keys)[None, :]
            here = filled[:, None]
            if diagonal:
                here = here & (keys < tokens)[None, :]
            k = tl.load(k_ptr + k_rows * k_stride + columns[:, None], mask=here, other=0.0)
            scores = tl.dot(q, k, input_precision="ieee") * scale
            if diagonal:
                scores = tl.where(keys[None, :] <= queries[:, None], scores, float("-inf"))
            higher = tl.maximum(highest, tl.max(scores, axis=1))
            powers = tl.exp2(scores - higher[:, None])
            shrink = tl.exp2(highest - higher)
            total = total * shrink + tl.sum(powers, axis=1)
            v_rows = (start + keys)[:, None]
            here = filled[None, :]
            if diagonal:
                here = here & (keys < tokens)[:, None]
            v = tl.load(v_ptr + v_rows * v_stride + columns[None, :], mask=here, other=0.0)
            mixed = mixed * shrink[:, None]
            mixed = tl.dot(powers.to(v.dtype), v, mixed, input_precision="ieee")
            highest = higher
    out = mixed / total[:, None]
    tl.store(out_ptr + q_rows * out_stride + columns[None, :], out, mask=inside)
    # END SOLUTION


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with causal attention: each token mixes the values of the tokens up to itself.

    All four are (heads, tokens, dimension), of one dtype. In each, all tokens lie equally far
    apart, also those of two heads; that may be further than a token is long.
    """
    heads, tokens, dimension = q.shape
    # BEGIN SOLUTION: launch a program for each block of queries of each head
    block, keys = TILES[q.element_size()]
    flash_attention_kernel[(heads * triton.cdiv(tokens, block),)](
        q,
        k,
        v,
        out,
        q.stride(1),
        k.stride(1),
        v.stride(1),
        out.stride(1),
        tokens,
        dimension,
        LOG2_E / math.sqrt(dimension),
        QUERIES=block,
        KEYS=keys,
        DIMENSION=max(LEAST, triton.next_power_of_2(dimension)),
        num_warps=WARPS,
    )
    # END SOLUTION
