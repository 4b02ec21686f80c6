"""Masks the loads and gives no `other`: masked lanes hold anything, and are added up.

Rejected at: correctness
On a GPU: may pass by luck, for masked lanes of both vectors often hold the same
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024
PROGRAMS = 792


@triton.jit
def partial_sums_kernel(prediction_ptr, target_ptr, partials_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    step = tl.num_programs(0) * BLOCK
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(program * BLOCK, n, step):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < n
        prediction = tl.load(prediction_ptr + offsets, mask=inside).to(tl.float32)
        target = tl.load(target_ptr + offsets, mask=inside).to(tl.float32)
        difference = prediction - target
        sums += difference * difference
    tl.store(partials_ptr + program, tl.sum(sums, axis=0))


@triton.jit
def mean_kernel(partials_ptr, loss_ptr, programs, n, LANES: tl.constexpr):
    lanes = tl.arange(0, LANES)
    partials = tl.load(partials_ptr + lanes, mask=lanes < programs, other=0.0)
    tl.store(loss_ptr, tl.sum(partials, axis=0) / n)


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    n = prediction.numel()
    programs = min(PROGRAMS, triton.cdiv(n, BLOCK))
    partials = torch.empty(programs, dtype=torch.float32, device=prediction.device)
    partial_sums_kernel[(programs,)](prediction, target, partials, n, BLOCK=BLOCK)
    lanes = triton.next_power_of_2(PROGRAMS)
    mean_kernel[(1,)](partials, loss, programs, n, LANES=lanes)
