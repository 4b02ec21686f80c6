"""Sums of blocks are added up in groups of 64, and the sums of these by a third launch."""

import torch
import triton
import triton.language as tl

BLOCK = 2048
GROUP = 64


@triton.jit
def partial_sums_kernel(prediction_ptr, target_ptr, partials_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(program * BLOCK, (program + 1) * BLOCK, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < n
        prediction = tl.load(prediction_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        target = tl.load(target_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        difference = prediction - target
        sums += difference * difference
    tl.store(partials_ptr + program, tl.sum(sums, axis=0))


@triton.jit
def sums_kernel(sums_ptr, fewer_ptr, count, divisor, GROUP: tl.constexpr):
    group = tl.program_id(0)
    lanes = group * GROUP + tl.arange(0, GROUP)
    sums = tl.load(sums_ptr + lanes, mask=lanes < count, other=0.0)
    tl.store(fewer_ptr + group, tl.sum(sums, axis=0) / divisor)


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    n = prediction.numel()
    count = triton.cdiv(n, BLOCK)
    sums = torch.empty(count, dtype=torch.float32, device=prediction.device)
    partial_sums_kernel[(count,)](prediction, target, sums, n, BLOCK=BLOCK)
    while count > GROUP:
        fewer = torch.empty(triton.cdiv(count, GROUP), dtype=torch.float32, device=loss.device)
        sums_kernel[(fewer.numel(),)](sums, fewer, count, 1, GROUP=GROUP)
        sums, count = fewer, fewer.numel()
    sums_kernel[(1,)](sums, loss, count, n, GROUP=GROUP)
