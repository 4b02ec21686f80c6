"""Fused linear cross entropy: loss and gradients without all logits in memory at once.

    logits  = x @ weight.T
    loss    = mean over the counting tokens of  log(sum_j exp(logits[i, j])) - logits[i, target[i]]
    dx      = gradient @ weight,    dweight = gradient.T @ x
    gradient[i, j] = (softmax(logits[i])[j] - (1 if j == target[i] else 0)) / counting tokens

A few tokens at a time: their logits lie in one small buffer, and their gradient replaces them
there, before the next tokens come.
"""

import torch
import triton
import triton.language as tl

IGNORED = -100  # the target of a token that does not count, such as padding
BLOCK = 4096  # logits of a row that a program handles at a time; a power of two
WARPS = 8  # groups of 32 threads that share the work on one row
PRODUCT_WARPS = 4  # and on one tile: two such programs fit on a multiprocessor
PART = 20  # the buffer holds the logits of a 20th of the tokens
LEAST = 16  # tokens that it holds at least
WORDS, COLUMNS = 128, 128  # the tile of dweight that one program adds to
BYTES = 128  # of one column's numbers, for the tokens that it adds at a time


@triton.jit
def cross_entropy_kernel(
    logits_ptr,
    target_ptr,
    losses_ptr,
    stride,
    vocabulary,
    IGNORED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Store one token's loss, and overwrite its row of logits by softmax - one-hot.

    `stride` is in elements. A token whose target is IGNORED has loss 0, and a row of zeros.
    """
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)
    # TODO: exercise 06 without grad_scale: maximum and sum, the loss, then the gradient
    pass


@triton.jit
def add_product_kernel(
    gradient_ptr,
    x_ptr,
    scale_ptr,
    dweight_ptr,
    gradient_stride,
    x_stride,
    dweight_stride,
    tokens,
    vocabulary,
    hidden,
    WORDS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TOKENS: tl.constexpr,
):
    """Add scale * gradient.T @ x to a tile of WORDS rows and COLUMNS columns of dweight.

    `gradient` is (tokens, vocabulary), x is (tokens, hidden), dweight is (vocabulary, hidden), of
    float32. Products and sums are in float32.
    """
    words = (tl.program_id(1) * WORDS + tl.arange(0, WORDS)).to(tl.int64)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    # TODO: add up the products over all tokens, TOKENS at a time; scale; add to dweight
    pass


def fused_linear_cross_entropy(
    x: torch.Tensor,
    weight: torch.Tensor,
    target: torch.Tensor,
    loss: torch.Tensor,
    dx: torch.Tensor,
    dweight: torch.Tensor,
) -> None:
    """Fill `loss` with the mean cross entropy of x @ weight.T, and `dx`, `dweight`, its gradients.

    x and dx are (tokens, hidden) and weight is (vocabulary, hidden), of one dtype; target is
    (tokens,) of int64, each a word or IGNORED. loss is (1,) and dweight is (vocabulary, hidden),
    of float32. Rows may be further apart than they are long.
    """
    tokens, hidden = x.shape
    vocabulary = len(weight)
    raise NotImplementedError(
        "07_fused_linear_cross_entropy: a loop over parts of the tokens: logits, gradient in "
        "their place, dx, dweight"
    )
