"""A program takes a block from the front and one from the back: all have as much to do."""

import math

import torch
import triton
import triton.language as tl

QUERIES, KEYS = 64, 32
WARPS = 4
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
    blocks = tl.cdiv(tokens, QUERIES)
    pairs = tl.cdiv(blocks, 2)
    front = tl.program_id(0) % pairs
    back = blocks - 1 - front
    for turn in range(tl.where(front == back, 1, 2)):
        block = tl.where(turn == 0, front, back)
        first = block * QUERIES
        start = (tl.program_id(0) // pairs).to(tl.int64) * tokens
        columns = tl.arange(0, DIMENSION)
        queries = first + tl.arange(0, QUERIES)
        inside = (queries < tokens)[:, None] & (columns < dimension)[None, :]
        q_tile = q_ptr + (start + queries)[:, None] * q_stride + columns[None, :]
        q = tl.load(q_tile, mask=inside, other=0.0)
        highest = tl.full((QUERIES,), float("-inf"), tl.float32)
        total = tl.zeros((QUERIES,), tl.float32)
        mixed = tl.zeros((QUERIES, DIMENSION), tl.float32)
        for begin in range(0, tl.minimum(first + QUERIES, tokens), KEYS):
            keys = begin + tl.arange(0, KEYS)
            turned = (keys < tokens)[None, :] & (columns < dimension)[:, None]
            k_tile = k_ptr + (start + keys)[None, :] * k_stride + columns[:, None]
            k = tl.load(k_tile, mask=turned, other=0.0)
            scores = tl.dot(q, k, input_precision="ieee") * scale
            scores = tl.where(queries[:, None] >= keys[None, :], scores, float("-inf"))
            higher = tl.maximum(highest, tl.max(scores, axis=1))
            powers = tl.exp2(scores - higher[:, None])
            shrink = tl.exp2(highest - higher)
            total = total * shrink + tl.sum(powers, axis=1)
            straight = (keys < tokens)[:, None] & (columns < dimension)[None, :]
            v_tile = v_ptr + (start + keys)[:, None] * v_stride + columns[None, :]
            v = tl.load(v_tile, mask=straight, other=0.0)
            mixed = mixed * shrink[:, None]
            mixed = tl.dot(powers.to(v.dtype), v, mixed, input_precision="ieee")
            highest = higher
        out_tile = out_ptr + (start + queries)[:, None] * out_stride + columns[None, :]
        result = mixed / total[:, None]
        tl.store(out_tile, result.to(out_ptr.dtype.element_ty), mask=inside)


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    heads, tokens, dimension = q.shape
    strides = (q.stride(1), k.stride(1), v.stride(1), out.stride(1))
    grid = (heads * triton.cdiv(triton.cdiv(tokens, QUERIES), 2),)
    flash_attention_kernel[grid](
        *(q, k, v, out, *strides, tokens, dimension, LOG2_E / math.sqrt(dimension)),
        QUERIES=QUERIES,
        KEYS=KEYS,
        DIMENSION=max(16, triton.next_power_of_2(dimension)),
        num_warps=WARPS,
    )
