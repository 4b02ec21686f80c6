"""Each program adds to the loss atomically: the last bits depend on the order of programs.

Rejected at: properties
On a GPU: may pass by luck, for programs often come in the same order in each run
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def mse_kernel(prediction_ptr, target_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    prediction = tl.load(prediction_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    target = tl.load(target_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    difference = prediction - target
    tl.atomic_add(loss_ptr, tl.sum(difference * difference, axis=0) / n)


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    n = prediction.numel()
    loss.zero_()
    mse_kernel[(triton.cdiv(n, BLOCK),)](prediction, target, loss, n, BLOCK=BLOCK)
