"""Block pointers for the tiles, whose bounds they check."""

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
    first_word = tl.program_id(1) * WORDS
    first_column = tl.program_id(0) * COLUMNS
    left = tl.make_block_ptr(
        gradient_ptr,
        (vocabulary, tokens),
        (1, gradient_stride),
        (first_word, 0),
        (WORDS, TOKENS),
        (0, 1),
    )
    right = tl.make_block_ptr(
        x_ptr, (tokens, hidden), (x_stride, 1), (0, first_column), (TOKENS, COLUMNS), (1, 0)
    )
    total = tl.zeros((WORDS, COLUMNS), tl.float32)
    for _ in range(0, tokens, TOKENS):
        gradient = tl.load(left, boundary_check=(0, 1), padding_option="zero")
        x = tl.load(right, boundary_check=(0, 1), padding_option="zero")
        total += tl.dot(gradient, x, input_precision="ieee")
        left = tl.advance(left, (0, TOKENS))
        right = tl.advance(right, (TOKENS, 0))
    place = tl.make_block_ptr(
        dweight_ptr,
        (vocabulary, hidden),
        (dweight_stride, 1),
        (first_word, first_column),
        (WORDS, COLUMNS),
        (1, 0),
    )
    before = tl.load(place, boundary_check=(0, 1))
    tl.store(place, before + tl.load(scale_ptr) * total, boundary_check=(0, 1))


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
