"""Parts of each row leave their sums to a launch for the losses and one for the gradients."""

import torch
import triton
import triton.language as tl

BLOCK = 2048
SPLITS = 8


@triton.jit
def parts(
    logits_ptr,
    maxima_ptr,
    sums_ptr,
    stride,
    vocabulary,
    part,
    SPLITS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stop = tl.minimum((split + 1) * part, vocabulary)
    part_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(split * part, stop, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * stride + offsets, offsets < stop, other=float("-inf"))
        x = x.to(tl.float32)
        new_max = tl.maximum(part_max, tl.max(x, axis=0))
        sums = sums * tl.exp(part_max - new_max) + tl.exp(x - new_max)
        part_max = new_max
    tl.store(maxima_ptr + row * SPLITS + split, part_max)
    tl.store(sums_ptr + row * SPLITS + split, tl.sum(sums, axis=0))


@triton.jit
def losses(
    logits_ptr,
    target_ptr,
    loss_ptr,
    maxima_ptr,
    sums_ptr,
    stride,
    tokens,
    SPLITS: tl.constexpr,
    ROWS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    here = row < tokens
    target = tl.load(target_ptr + row, mask=here, other=-100)
    counts = here & (target != -100)
    every = row[:, None] * SPLITS + tl.arange(0, SPLITS)[None, :]
    maxima = tl.load(maxima_ptr + every, mask=here[:, None], other=0.0)
    sums = tl.load(sums_ptr + every, mask=here[:, None], other=1.0)
    row_max = tl.max(maxima, axis=1)
    total = tl.sum(sums * tl.exp(maxima - row_max[:, None]), axis=1)
    chosen = tl.load(logits_ptr + row * stride + target, mask=counts, other=0.0).to(tl.float32)
    loss = tl.where(counts, (row_max - chosen) + tl.log(total), 0.0)
    tl.store(loss_ptr + row, loss, mask=here)


@triton.jit
def gradients(
    logits_ptr,
    target_ptr,
    maxima_ptr,
    sums_ptr,
    grad_scale,
    stride,
    vocabulary,
    part,
    SPLITS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    target = tl.load(target_ptr + row)
    maxima = tl.load(maxima_ptr + row * SPLITS + tl.arange(0, SPLITS))
    row_max = tl.max(maxima, axis=0)
    sums = tl.load(sums_ptr + row * SPLITS + tl.arange(0, SPLITS))
    total = tl.sum(sums * tl.exp(maxima - row_max), axis=0)
    scale = tl.where(target == -100, 0.0, grad_scale)
    stop = tl.minimum((split + 1) * part, vocabulary)
    for start in range(split * part, stop, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        at = logits_ptr + row * stride + offsets
        x = tl.load(at, mask=offsets < stop, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(x - row_max) / total - tl.where(offsets == target, 1.0, 0.0)
        tl.store(at, scale * gradient, mask=offsets < stop)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    tokens, vocabulary = logits.shape
    part = triton.cdiv(triton.cdiv(vocabulary, SPLITS), BLOCK) * BLOCK
    maxima = torch.empty((tokens, SPLITS), dtype=torch.float32, device=logits.device)
    sums = torch.empty_like(maxima)
    stride = logits.stride(0)
    sizes = {"SPLITS": SPLITS, "BLOCK": BLOCK}
    parts[(tokens, SPLITS)](logits, maxima, sums, stride, vocabulary, part, **sizes)
    losses[(triton.cdiv(tokens, 32),)](
        logits, target, loss, maxima, sums, stride, tokens, SPLITS=SPLITS, ROWS=32
    )
    gradients[(tokens, SPLITS)](
        logits, target, maxima, sums, grad_scale, stride, vocabulary, part, **sizes
    )
