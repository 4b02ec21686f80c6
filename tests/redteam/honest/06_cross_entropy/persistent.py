"""A fixed number of programs, each of which takes every so-manieth token."""

import torch
import triton
import triton.language as tl

BLOCK = 4096
PROGRAMS = 528


@triton.jit
def cross_entropy_kernel(
    logits_ptr, target_ptr, loss_ptr, grad_scale, stride, tokens, vocabulary, BLOCK: tl.constexpr
):
    lanes = tl.arange(0, BLOCK)
    for number in range(tl.program_id(0), tokens, tl.num_programs(0)):
        row = tl.cast(number, tl.int64)
        logits_row = logits_ptr + row * stride
        target = tl.load(target_ptr + row)
        if target != -100:
            chosen = tl.load(logits_row + target).to(tl.float32)
            row_max = float("-inf")
            total = 0.0
            for start in range(0, vocabulary, BLOCK):
                offsets = start + lanes
                x = tl.load(logits_row + offsets, offsets < vocabulary, other=float("-inf"))
                x = x.to(tl.float32)
                new_max = tl.maximum(row_max, tl.max(x, axis=0))
                total = total * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
                row_max = new_max
            tl.store(loss_ptr + row, (row_max - chosen) + tl.log(total))
            for start in range(0, vocabulary, BLOCK):
                offsets = start + lanes
                x = tl.load(logits_row + offsets, offsets < vocabulary, other=float("-inf"))
                gradient = tl.exp(x.to(tl.float32) - row_max) / total
                gradient -= tl.where(offsets == target, 1.0, 0.0)
                tl.store(logits_row + offsets, grad_scale * gradient, offsets < vocabulary)
        else:
            tl.store(loss_ptr + row, 0.0)
            for start in range(0, vocabulary, BLOCK):
                zeros = tl.zeros((BLOCK,), tl.float32)
                tl.store(logits_row + start + lanes, zeros, start + lanes < vocabulary)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    tokens, vocabulary = logits.shape
    cross_entropy_kernel[(min(tokens, PROGRAMS),)](
        logits,
        target,
        loss,
        grad_scale,
        logits.stride(0),
        tokens,
        vocabulary,
        BLOCK=BLOCK,
        num_warps=8,
    )
