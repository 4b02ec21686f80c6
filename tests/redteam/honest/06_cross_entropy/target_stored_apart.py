"""The second pass leaves the target's column out, and one scalar store fills it."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


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
        inside = (offsets < vocabulary) & (offsets != target)
        x = tl.load(logits_row + offsets, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(logits_row + offsets, grad_scale * (tl.exp(x - row_max) / total), mask=inside)
    own = grad_scale * (tl.exp(chosen - row_max) / total - 1.0)
    tl.store(logits_row + target, own.to(logits_ptr.dtype.element_ty))


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
