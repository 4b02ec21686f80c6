import torch
import triton
import triton.language as tl

IGNORED = -100
BLOCK = 4096
WARPS = 8


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
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)

    if target == IGNORED:
        tl.store(loss_ptr + row, 0.0)
        zeros = tl.zeros((BLOCK,), logits_ptr.dtype.element_ty)
        for start in range(0, vocabulary, BLOCK):
            offsets = start + lanes
            tl.store(logits_row + offsets, zeros, mask=offsets < vocabulary)
        return

    target_logit = tl.load(logits_row + target).to(tl.float32)
    row_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        offsets = start + lanes
        x = tl.load(logits_row + offsets, mask=offsets < vocabulary, other=float("-inf"))
        x = x.to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        sums += tl.exp(x)
        row_max = new_max
    total = tl.sum(sums, axis=0)
    tl.store(loss_ptr + row, tl.log(total) - target_logit)

    scale = grad_scale / total
    for start in range(0, vocabulary, BLOCK):
        offsets = start + lanes
        inside = offsets < vocabulary
        v = tl.load(logits_row + offsets, mask=inside, other=float("-inf")).to(tl.float32)
        gradient = scale * tl.exp(v)
        gradient = tl.where(offsets == target, gradient - grad_scale, gradient)
        tl.store(logits_row + offsets, gradient.to(logits_ptr.dtype.element_ty), mask=inside)


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
        IGNORED=IGNORED,
        BLOCK=BLOCK,
        num_warps=WARPS,
    )
