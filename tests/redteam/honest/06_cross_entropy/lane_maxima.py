"""Each lane keeps a maximum and a sum of its own; they are brought together after the loop."""

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def cross_entropy_kernel(
    logits_ptr, target_ptr, loss_ptr, grad_scale, stride, vocabulary, BLOCK: tl.constexpr
):
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
    least = -3.4028234663852886e38  # finite, so that nothing takes -inf from -inf
    highest = tl.full((BLOCK,), least, tl.float32)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        inside = start + lanes < vocabulary
        x = tl.load(logits_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(highest, x)
        sums = sums * tl.exp(highest - higher) + tl.exp(x - higher)
        highest = higher
    row_max = tl.max(highest, axis=0)
    total = tl.sum(sums * tl.exp(highest - row_max), axis=0)
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
    cross_entropy_kernel[(tokens,)](
        logits,
        target,
        loss,
        grad_scale,
        logits.stride(0),
        vocabulary,
        BLOCK=BLOCK,
        num_warps=8,
    )
