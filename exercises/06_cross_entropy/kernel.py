"""Cross entropy and its gradient in one launch; the gradient takes the place of the logits.

    loss[i]         = log(sum_j exp(logits[i, j])) - logits[i, target[i]]
    d loss / d l_ij = softmax(logits[i])[j] - (1 if j == target[i] else 0)

One program works on one row: an online softmax reads the row once, a second pass reads it again
and overwrites it. A row whose target is IGNORED has loss 0 and gradient 0.
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
    # TODO: if the target is IGNORED, store the zeros and return
    pass

    # Pass 1: the online softmax of exercise 04, and the loss.
    # TODO: read the target's logit, then maximum and rescaled sum, then store the loss
    pass

    # Pass 2: the gradient, rounded once to the dtype of the logits.
    # TODO: read each block again and overwrite it with grad_scale * (softmax - one-hot)
    pass


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    """Fill `loss`, and overwrite `logits` with grad_scale * d(sum of loss) / d(logits).

    `logits` is (tokens, vocabulary) of float32, float16 or bfloat16, with a row stride that may
    exceed `vocabulary`; `target` is (tokens,) of int64, each a column or -100 (ignored); `loss` is
    (tokens,) of float32.
    """
    tokens, vocabulary = logits.shape
    raise NotImplementedError("06_cross_entropy: launch one program for each token")
