"""A launch of its own writes the zeros of ignored tokens; the other one leaves at once there."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def zero_ignored(logits_ptr, target_ptr, loss_ptr, stride, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    if tl.load(target_ptr + row) == -100:
        tl.store(loss_ptr + row, 0.0)
        for start in range(0, vocabulary, BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            zeros = tl.zeros((BLOCK,), logits_ptr.dtype.element_ty)
            tl.store(logits_ptr + row * stride + offsets, zeros, mask=offsets < vocabulary)


@triton.jit
def counted(logits_ptr, target_ptr, loss_ptr, grad_scale, stride, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)
    if target == -100:
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
    stride = logits.stride(0)
    zero_ignored[(tokens,)](logits, target, loss, stride, vocabulary, BLOCK=BLOCK)
    counted[(tokens,)](
        logits, target, loss, grad_scale, stride, vocabulary, BLOCK=BLOCK, num_warps=8
    )
