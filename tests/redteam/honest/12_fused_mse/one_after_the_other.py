"""Programs add to the loss in the order of their numbers: each waits for the one before it."""

import torch
import triton
import triton.language as tl

BLOCK = 4096
PROGRAMS = 66  # fewer than a GPU runs at once, since they wait for each other


@triton.jit
def mse_kernel(prediction_ptr, target_ptr, loss_ptr, turn_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    step = tl.num_programs(0) * BLOCK
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(program * BLOCK, n, step):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < n
        prediction = tl.load(prediction_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        target = tl.load(target_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        difference = prediction - target
        sums += difference * difference
    total = tl.sum(sums, axis=0) / n
    while tl.atomic_add(turn_ptr, 0, sem="acquire") != program:
        pass
    if program > 0:
        total += tl.load(loss_ptr, volatile=True)
    tl.store(loss_ptr, total)
    tl.debug_barrier()  # the loss is there before the next program's turn
    tl.atomic_add(turn_ptr, 1, sem="release")


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    n = prediction.numel()
    programs = min(PROGRAMS, triton.cdiv(n, BLOCK))
    turn = torch.zeros(1, dtype=torch.int32, device=prediction.device)
    mse_kernel[(programs,)](prediction, target, loss, turn, n, BLOCK=BLOCK)
