"""Takes grad_scale into the exponent, as a logarithm: right only for a positive one.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl

IGNORED = -100  # the target of a token that does not count, such as padding
BLOCK = 4096  # columns that a program handles at a time; a power of two, as tl.arange asks
WARPS = 8  # groups of 32 threads that share one program's work


@triton.jit
def cross_entropy_kernel(
    logits_ptr,
    target_ptr,
    loss_ptr,
    grad_scale,
    stride,
    vocabulary,
    IGNORED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Fill one loss and overwrite one row of logits; `stride` is in elements."""
    # 64 bits, because row * stride passes 2**31 from 16,745 tokens of 128,256 logits on.
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)

    # A token that does not count: zero its loss and its row, and read none of its logits.
    if target == IGNORED:
        tl.store(loss_ptr + row, 0.0)
        zeros = tl.zeros((BLOCK,), logits_ptr.dtype.element_ty)
        for start in range(0, vocabulary, BLOCK):
            offsets = start + lanes
            tl.store(logits_row + offsets, zeros, mask=offsets < vocabulary)
        return

    # Pass 1: the online softmax of exercise 04, and the loss.
    # The target's logit is read now, because the second pass overwrites it.
    target_logit = tl.load(logits_row + target).to(tl.float32)
    row_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        offsets = start + lanes
        x = tl.load(logits_row + offsets, mask=offsets < vocabulary, other=float("-inf"))
        x = x.to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
        row_max = new_max
    total = tl.sum(sums, axis=0)
    # The small log is added last, so that it is not lost in a large maximum.
    tl.store(loss_ptr + row, (row_max - target_logit) + tl.log(total))

    # Pass 2: the gradient, rounded once to the dtype of the logits.
    shift = row_max + tl.log(total) - tl.log(grad_scale)
    for start in range(0, vocabulary, BLOCK):
        offsets = start + lanes
        inside = offsets < vocabulary
        x = tl.load(logits_row + offsets, mask=inside, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(x - shift)
        gradient = tl.where(offsets == target, gradient - grad_scale, gradient)
        tl.store(logits_row + offsets, gradient.to(logits_ptr.dtype.element_ty), mask=inside)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    """Fill `loss`, and overwrite `logits` with grad_scale * d(sum of loss) / d(logits).

    `logits` is (tokens, vocabulary) of float32, float16 or bfloat16, with a row stride that may
    exceed `vocabulary`; `target` is (tokens,) of int64, each a column or -100 (ignored); `loss` is
    (tokens,) of float32.
    """
    tokens, vocabulary = logits.shape
    cross_entropy_kernel[(tokens,)](
        logits,
        target,
        loss,
        grad_scale,
        logits.stride(0),
        vocabulary,
        IGNORED=IGNORED,
        BLOCK=BLOCK,
        num_warps=WARPS,
    )
