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
    # TODO: find head and queries; loop over keys; rescale, add up; divide and store
    pass


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with causal attention: each token mixes the values of the tokens up to itself.

    All four are (heads, tokens, dimension), of one dtype. In each, all tokens lie equally far
    apart, also those of two heads; that may be further than a token is long.
    """
    heads, tokens, dimension = q.shape
    raise NotImplementedError(
        "16_flash_attention: launch a program for each block of queries of each head"
    )
