"""An atomic counter tells which program ends last, and that one adds up all partial sums."""

import torch
import triton
import triton.language as tl

BLOCK = 1024
PROGRAMS = 792


@triton.jit
def mse_kernel(
    prediction_ptr,
    target_ptr,
    partials_ptr,
    ended_ptr,
    loss_ptr,
    n,
    BLOCK: tl.constexpr,
    LANES: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    programs = tl.num_programs(0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(program * BLOCK, n, programs * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < n
        prediction = tl.load(prediction_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        target = tl.load(target_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        difference = prediction - target
        sums += difference * difference
    tl.store(partials_ptr + program, tl.sum(sums, axis=0))
    tl.debug_barrier()  # the sum is there before the counter says so
    if tl.atomic_add(ended_ptr, 1, sem="acq_rel") == programs - 1:
        lanes = tl.arange(0, LANES)
        partials = tl.load(partials_ptr + lanes, mask=lanes < programs, other=0.0, volatile=True)
        tl.store(loss_ptr, tl.sum(partials, axis=0) / n)


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    n = prediction.numel()
    programs = min(PROGRAMS, triton.cdiv(n, BLOCK))
    partials = torch.empty(programs, dtype=torch.float32, device=prediction.device)
    ended = torch.zeros(1, dtype=torch.int32, device=prediction.device)
    lanes = triton.next_power_of_2(PROGRAMS)
    mse_kernel[(programs,)](prediction, target, partials, ended, loss, n, BLOCK=BLOCK, LANES=lanes)
