"""Each program has one block and leaves one sum; the second kernel loops over the sums."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def partial_sums_kernel(prediction_ptr, target_ptr, partials_ptr, n, BLOCK: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    prediction = tl.load(prediction_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    target = tl.load(target_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    difference = prediction - target
    tl.store(partials_ptr + block, tl.sum(difference * difference, axis=0))


@triton.jit
def mean_kernel(partials_ptr, loss_ptr, blocks, n, LANES: tl.constexpr):
    sums = tl.zeros((LANES,), tl.float32)
    for start in range(0, blocks, LANES):
        lanes = start + tl.arange(0, LANES)
        sums += tl.load(partials_ptr + lanes, mask=lanes < blocks, other=0.0)
    tl.store(loss_ptr, tl.sum(sums, axis=0) / n)


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    n = prediction.numel()
    blocks = triton.cdiv(n, BLOCK)
    partials = torch.empty(blocks, dtype=torch.float32, device=prediction.device)
    partial_sums_kernel[(blocks,)](prediction, target, partials, n, BLOCK=BLOCK, num_warps=8)
    mean_kernel[(1,)](partials, loss, blocks, n, LANES=1024)
