"""Builds the causal mask of each head as a matrix of bytes, and loads tiles of it.

Rejected at: memory
"""

import math

import torch
import triton
import triton.language as tl

TILES = {2: (128, 64), 4: (64, 16)}
WARPS = 8
LEAST = 16
LOG2_E = math.log2(math.e)


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    mask_ptr,
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
    columns = tl.arange(0, DIMENSION)
    blocks = tl.cdiv(tokens, QUERIES)
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
    seen = first // KEYS * KEYS
    end = tl.minimum(first + QUERIES, tokens)
    for diagonal in tl.static_range(2):
        for begin in range(seen * diagonal, seen + (end - seen) * diagonal, KEYS):
            keys = begin + tl.arange(0, KEYS)
            k_rows = (start + keys)[None, :]
            here = filled[:, None]
            if diagonal:
                here = here & (keys < tokens)[None, :]
            k = tl.load(k_ptr + k_rows * k_stride + columns[:, None], mask=here, other=0.0)
            scores = tl.dot(q, k, input_precision="ieee") * scale
            if diagonal:
                places = mask_ptr + q_rows * tokens + keys[None, :]
                there = (queries < tokens)[:, None] & (keys < tokens)[None, :]
                seen_keys = tl.load(places, mask=there, other=0)
                scores = tl.where(seen_keys > 0, scores, float("-inf"))
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


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    heads, tokens, dimension = q.shape
    block, keys = TILES[q.element_size()]
    mask = torch.ones((heads, tokens, tokens), dtype=torch.int8, device=q.device).tril()
    flash_attention_kernel[(heads * triton.cdiv(tokens, block),)](
        q,
        k,
        v,
        out,
        mask,
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
