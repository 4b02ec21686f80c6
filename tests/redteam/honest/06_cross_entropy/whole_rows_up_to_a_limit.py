"""Rows of up to 4,096 columns are read once and held; longer ones are read again."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def cross_entropy_kernel(
    logits_ptr,
    target_ptr,
    loss_ptr,
    grad_scale,
    stride,
    vocabulary,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)
    if target == -100:
        tl.store(loss_ptr + row, 0.0)
        for start in range(0, vocabulary, BLOCK):
            tl.store(logits_row + start + lanes, 0.0, mask=start + lanes < vocabulary)
        return
    if vocabulary <= BLOCK:
        inside = lanes < vocabulary
        x = tl.load(logits_row + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        highest = tl.max(x, axis=0)
        powers = tl.exp(x - highest)
        sum_of_powers = tl.sum(powers, axis=0)
        own = tl.sum(tl.where(lanes == target, x, 0.0), axis=0)
        tl.store(loss_ptr + row, (highest - own) + tl.log(sum_of_powers))
        hot = tl.where(lanes == target, 1.0, 0.0)
        tl.store(logits_row + lanes, grad_scale * (powers / sum_of_powers - hot), mask=inside)
        return
    target_logit = tl.load(logits_row + target).to(tl.float32)
    row_max = float("-inf")
    total = 0.0
    for start in range(0, vocabulary, BLOCK):
        inside = start + lanes < vocabulary
        x = tl.load(logits_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        total = total * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
        row_max = new_max
    tl.store(loss_ptr + row, (row_max - target_logit) + tl.log(total))
    for start in range(0, vocabulary, BLOCK):
        inside = start + lanes < vocabulary
        x = tl.load(logits_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        gradient = grad_scale * tl.exp(x - row_max) / total
        gradient = tl.where(start + lanes == target, gradient - grad_scale, gradient)
        tl.store(logits_row + start + lanes, gradient, mask=inside)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    tokens, vocabulary = logits.shape
    cross_entropy_kernel[(tokens,)](
        logits, target, loss, grad_scale, logits.stride(0), vocabulary, BLOCK=BLOCK, num_warps=8
    )
