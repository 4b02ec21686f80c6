"""The target's gradient is corrected by one more store after the loop."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


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
        tl.store(logits_row + start + lanes, gradient, mask=inside & (start + lanes != target))
    own = grad_scale * (tl.exp(target_logit - row_max) / total - 1.0)
    tl.store(logits_row + target, own)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    tokens, vocabulary = logits.shape
    cross_entropy_kernel[(tokens,)](
        logits, target, loss, grad_scale, logits.stride(0), vocabulary, BLOCK=BLOCK, num_warps=8
    )
