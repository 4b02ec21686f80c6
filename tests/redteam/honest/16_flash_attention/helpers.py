"""Helper functions load tiles and attend to a block, with a mask and without."""

import math

import torch
import triton
import triton.language as tl

QUERIES, KEYS = 64, 32
WARPS = 4
LOG2_E = math.log2(math.e)


@triton.jit
def tile(pointer, start, rows, columns, stride, tokens, dimension):
    inside = (rows < tokens)[:, None] & (columns < dimension)[None, :]
    places = pointer + (start + rows)[:, None] * stride + columns[None, :]
    return tl.load(places, mask=inside, other=0.0)


@triton.jit
def attend(
    q,
    k,
    v,
    queries,
    keys,
    highest,
    total,
    mixed,
    scale,
    MASKED: tl.constexpr,
):
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    if MASKED:
        scores = tl.where(queries[:, None] >= keys[None, :], scores, float("-inf"))
    higher = tl.maximum(highest, tl.max(scores, axis=1))
    powers = tl.exp2(scores - higher[:, None])
    shrink = tl.exp2(highest - higher)
    mixed = tl.dot(powers.to(v.dtype), v, mixed * shrink[:, None], input_precision="ieee")
    return higher, total * shrink + tl.sum(powers, axis=1), mixed


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
    first = (tl.program_id(0) % blocks) * QUERIES
    start = (tl.program_id(0) // blocks).to(tl.int64) * tokens
    columns = tl.arange(0, DIMENSION)
    queries = first + tl.arange(0, QUERIES)
    inside = (queries < tokens)[:, None] & (columns < dimension)[None, :]
    q = tile(q_ptr, start, queries, columns, q_stride, tokens, dimension)
    highest = tl.full((QUERIES,), float("-inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    mixed = tl.zeros((QUERIES, DIMENSION), tl.float32)
    whole = first // KEYS * KEYS
    for begin in range(0, whole, KEYS):
        keys = begin + tl.arange(0, KEYS)
        k = tile(k_ptr, start, keys, columns, k_stride, tokens, dimension)
        v = tile(v_ptr, start, keys, columns, v_stride, tokens, dimension)
        highest, total, mixed = attend(q, k, v, queries, keys, highest, total, mixed, scale, False)
    for begin in range(whole, tl.minimum(first + QUERIES, tokens), KEYS):
        keys = begin + tl.arange(0, KEYS)
        k = tile(k_ptr, start, keys, columns, k_stride, tokens, dimension)
        v = tile(v_ptr, start, keys, columns, v_stride, tokens, dimension)
        highest, total, mixed = attend(q, k, v, queries, keys, highest, total, mixed, scale, True)
    out_tile = out_ptr + (start + queries)[:, None] * out_stride + columns[None, :]
    result = mixed / total[:, None]
    tl.store(out_tile, result.to(out_ptr.dtype.element_ty), mask=inside)


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    heads, tokens, dimension = q.shape
    strides = (q.stride(1), k.stride(1), v.stride(1), out.stride(1))
    grid = (heads * triton.cdiv(tokens, QUERIES),)
    flash_attention_kernel[grid](
        *(q, k, v, out, *strides, tokens, dimension, LOG2_E / math.sqrt(dimension)),
        QUERIES=QUERIES,
        KEYS=KEYS,
        DIMENSION=max(16, triton.next_power_of_2(dimension)),
        num_warps=WARPS,
    )
