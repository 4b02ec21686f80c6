"""One launch finds maxima, sums and losses; a second has a program for each block of each row."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def statistics(
    logits_ptr, target_ptr, loss_ptr, maxima_ptr, sums_ptr, stride, vocabulary, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)
    if target == -100:
        tl.store(loss_ptr + row, 0.0)
        return
    chosen = tl.load(logits_row + target).to(tl.float32)
    row_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        inside = start + lanes < vocabulary
        x = tl.load(logits_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
        row_max = new_max
    total = tl.sum(sums, axis=0)
    tl.store(maxima_ptr + row, row_max)
    tl.store(sums_ptr + row, total)
    tl.store(loss_ptr + row, (row_max - chosen) + tl.log(total))


@triton.jit
def gradients(
    logits_ptr,
    target_ptr,
    maxima_ptr,
    sums_ptr,
    grad_scale,
    stride,
    vocabulary,
    BLOCK: tl.constexpr,
):
    blocks = tl.cdiv(vocabulary, BLOCK)
    row = tl.program_id(0).to(tl.int64) // blocks
    offsets = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < vocabulary
    at = logits_ptr + row * stride + offsets
    target = tl.load(target_ptr + row)
    if target == -100:
        tl.store(at, tl.zeros((BLOCK,), tl.float32), mask=inside)
    else:
        x = tl.load(at, mask=inside, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(x - tl.load(maxima_ptr + row)) / tl.load(sums_ptr + row)
        gradient -= tl.where(offsets == target, 1.0, 0.0)
        tl.store(at, grad_scale * gradient, mask=inside)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    tokens, vocabulary = logits.shape
    maxima = torch.empty(tokens, dtype=torch.float32, device=logits.device)
    sums = torch.empty_like(maxima)
    stride = logits.stride(0)
    statistics[(tokens,)](
        logits, target, loss, maxima, sums, stride, vocabulary, BLOCK=BLOCK, num_warps=8
    )
    gradients[(tokens * triton.cdiv(vocabulary, BLOCK),)](
        logits, target, maxima, sums, grad_scale, stride, vocabulary, BLOCK=BLOCK, num_warps=8
    )
