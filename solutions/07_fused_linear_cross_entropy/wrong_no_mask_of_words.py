"""Loads the gradient without a mask for the words.

Rejected at: correctness
On a GPU: may pass by luck, for memory past the end of the gradient often holds 0 there
"""

import torch
import triton
import triton.language as tl

IGNORED = -100
BLOCK = 4096
WARPS = 8
PART = 20
LEAST = 16
WORDS, COLUMNS = 128, 128
BYTES = 128


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
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)
    if target == IGNORED:
        tl.store(losses_ptr + row, 0.0)
        nothing = tl.zeros((BLOCK,), logits_ptr.dtype.element_ty)
        for begin in range(0, vocabulary, BLOCK):
            words = begin + lanes
            tl.store(logits_row + words, nothing, mask=words < vocabulary)
        return
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
    total = tl.sum(sums, axis=0)
    tl.store(losses_ptr + row, (highest - chosen) + tl.log(total))
    for begin in range(0, vocabulary, BLOCK):
        words = begin + lanes
        inside = words < vocabulary
        z = tl.load(logits_row + words, mask=inside, other=float("-inf")).to(tl.float32)
        share = tl.exp(z - highest) / total
        gradient = tl.where(words == target, share - 1.0, share)
        tl.store(logits_row + words, gradient.to(logits_ptr.dtype.element_ty), mask=inside)


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
    words = (tl.program_id(1) * WORDS + tl.arange(0, WORDS)).to(tl.int64)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((WORDS, COLUMNS), tl.float32)
    for begin in range(0, tokens, TOKENS):
        rows = (begin + tl.arange(0, TOKENS)).to(tl.int64)[:, None]
        here = rows < tokens
        gradients = gradient_ptr + rows * gradient_stride + words[None, :]
        gradient = tl.load(gradients, mask=here, other=0.0)
        of_columns = here & (columns < hidden)[None, :]
        x = tl.load(x_ptr + rows * x_stride + columns[None, :], mask=of_columns, other=0.0)
        total = tl.dot(tl.trans(gradient), x, total, input_precision="ieee")
    places = dweight_ptr + words[:, None] * dweight_stride + columns[None, :]
    inside = (words < vocabulary)[:, None] & (columns < hidden)[None, :]
    before = tl.load(places, mask=inside)
    tl.store(places, before + tl.load(scale_ptr) * total, mask=inside)


def fused_linear_cross_entropy(
    x: torch.Tensor,
    weight: torch.Tensor,
    target: torch.Tensor,
    loss: torch.Tensor,
    dx: torch.Tensor,
    dweight: torch.Tensor,
) -> None:
    tokens, hidden = x.shape
    vocabulary = len(weight)
    held = max(LEAST, tokens // PART // LEAST * LEAST)
    buffer = torch.empty((held, vocabulary), dtype=x.dtype, device=x.device)
    losses = torch.empty(tokens, dtype=torch.float32, device=x.device)
    scale = (target != IGNORED).sum().reciprocal()
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
        gradient = logits
        torch.mm(gradient, weight, out=dx_part)
        dx_part.mul_(scale)
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
            num_warps=WARPS,
        )
    torch.sum(losses, 0, keepdim=True, out=loss)
    loss.mul_(scale)
