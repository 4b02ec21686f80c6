"""Vocabularies of one block are read once, without a loop; longer ones twice."""

import torch
import triton
import triton.language as tl

BLOCK = 8192


@triton.jit
def short_row(
    logits_ptr, target_ptr, loss_ptr, grad_scale, stride, vocabulary, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < vocabulary
    target = tl.load(target_ptr + row)
    counts = target != -100
    x = tl.load(logits_ptr + row * stride + lanes, mask=inside, other=float("-inf"))
    x = x.to(tl.float32)
    row_max = tl.max(x, axis=0)
    terms = tl.exp(x - row_max)
    total = tl.sum(terms, axis=0)
    chosen = tl.sum(tl.where(lanes == target, x, 0.0), axis=0)
    tl.store(loss_ptr + row, tl.where(counts, (row_max - chosen) + tl.log(total), 0.0))
    gradient = grad_scale * (terms / total - tl.where(lanes == target, 1.0, 0.0))
    tl.store(logits_ptr + row * stride + lanes, tl.where(counts, gradient, 0.0), mask=inside)


@triton.jit
def long_row(logits_ptr, target_ptr, loss_ptr, grad_scale, stride, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)
    if target == -100:
        tl.store(loss_ptr + row, 0.0)
        zeros = tl.zeros((BLOCK,), logits_ptr.dtype.element_ty)
        for start in range(0, vocabulary, BLOCK):
            tl.store(logits_row + start + lanes, zeros, mask=start + lanes < vocabulary)
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
    tl.store(loss_ptr + row, (row_max - chosen) + tl.log(total))
    for start in range(0, vocabulary, BLOCK):
        offsets = start + lanes
        inside = offsets < vocabulary
        x = tl.load(logits_row + offsets, mask=inside, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(x - row_max) / total - tl.where(offsets == target, 1.0, 0.0)
        tl.store(logits_row + offsets, grad_scale * gradient, mask=inside)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    tokens, vocabulary = logits.shape
    if vocabulary <= BLOCK:
        kernel, block = short_row, triton.next_power_of_2(vocabulary)
    else:
        kernel, block = long_row, BLOCK
    kernel[(tokens,)](
        logits, target, loss, grad_scale, logits.stride(0), vocabulary, BLOCK=block, num_warps=8
    )
