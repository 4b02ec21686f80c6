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
    # BEGIN SOLUTION: exercise 06 without grad_scale: maximum and sum, the loss, then the gradient
    if target == IGNORED:
        tl.store(losses_ptr + row, 0.0)
        nothing = tl.zeros((BLOCK,), logits_ptr.dtype.element_ty)
        for begin in range(0, vocabulary, BLOCK):
            words = begin + lanes
            tl.store(logits_row + words, nothing, mask=words < vocabulary)
        return
    # The gradient takes the place of the target's logit, which the loss needs.
    chosen = tl.load(logits_row + target).to(tl.float32)
    highest = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, vocabulary, BLOCK):
        words = begin + lanes
        z = tl.load(logits_row + words, mask=words < vocabulary, other=float("-inf"))
        z = z.to(tl.float32)
        higher = tl.maximum(highest, tl.max(z, axis=0))
        sums = sums * tl.exp(highest - higher) + tl.exp(z - higher)
        highest = higher
    log_sum = tl.log(tl.sum(sums, axis=0))
    tl.store(losses_ptr + row, (highest - chosen) + log_sum)
    for begin in range(0, vocabulary, BLOCK):
        words = begin + lanes
        inside = words < vocabulary
        z = tl.load(logits_row + words, mask=inside, other=float("-inf")).to(tl.float32)
        share = tl.exp((z - highest) - log_sum)  # no division for each word
        gradient = tl.where(words == target, share - 1.0, share)
        tl.store(logits_row + words, gradient.to(logits_ptr.dtype.element_ty), mask=inside)
    # END SOLUTION


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
    # BEGIN SOLUTION: add up the products over all tokens, TOKENS at a time; scale; add to dweight
    total = tl.zeros((WORDS, COLUMNS), tl.float32)
    for begin in range(0, tokens, TOKENS):
        rows = (begin + tl.arange(0, TOKENS)).to(tl.int64)[:, None]
        here = rows < tokens
        of_words = here & (words < vocabulary)[None, :]
        gradients = gradient_ptr + rows * gradient_stride + words[None, :]
        gradient = tl.load(gradients, mask=of_words, other=0.0)
        of_columns = here & (columns < hidden)[None, :]
        x = tl.load(x_ptr + rows * x_stride + columns[None, :], mask=of_columns, other=0.0)
        # Without "ieee" a GPU multiplies float32 with the 10 bits of TF32.
        total = tl.dot(tl.trans(gradient), x, total, input_precision="ieee")
    places = dweight_ptr + words[:, None] * dweight_stride + columns[None, :]
    inside = (words < vocabulary)[:, None] & (columns < hidden)[None, :]
    before = tl.load(places, mask=inside)
    tl.store(places, before + tl.load(scale_ptr) * total, mask=inside)
    # END SOLUTION


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
    # BEGIN SOLUTION: a loop over parts of the tokens: logits, gradient in their place, dx, dweight
    held = max(LEAST, tokens // PART // LEAST * LEAST)
    buffer = torch.empty((held, vocabulary), dtype=x.dtype, device=x.device)
    losses = torch.empty(tokens, dtype=torch.float32, device=x.device)
    scale = (target != IGNORED).sum().reciprocal()  # stays on the GPU: nobody waits for it
    grid = (triton.cdiv(hidden, COLUMNS), triton.cdiv(vocabulary, WORDS))
    dweight.zero_()
    for first in range(0, tokens, held):
        part = slice(first, first + held)
        x_part, target_part, dx_part = x[part], target[part], dx[part]
        count = len(x_part)
        logits = buffer[:count]
        torch.mm(x_part, weight.T, out=logits)
        cross_entropy_kernel[(count,)](
            logits,
            target_part,
            losses[part],
            logits.stride(0),
            vocabulary,
            IGNORED=IGNORED,
            BLOCK=BLOCK,
            num_warps=WARPS,
        )
        gradient = logits  # in the same memory
        torch.mm(gradient, weight, out=dx_part)
        add_product_kernel[grid](
            gradient,
            x_part,
            scale,
            dweight,
            gradient.stride(0),
            x_part.stride(0),
            dweight.stride(0),
            count,
            vocabulary,
            hidden,
            WORDS=WORDS,
            COLUMNS=COLUMNS,
            TOKENS=BYTES // x.element_size(),
            num_warps=PRODUCT_WARPS,
        )
    # Not before the product: 1 / tokens is small, and float16 ends at 2**-24.
    dx.mul_(scale)
    torch.sum(losses, 0, keepdim=True, out=loss)
    loss.mul_(scale)
    # END SOLUTION
