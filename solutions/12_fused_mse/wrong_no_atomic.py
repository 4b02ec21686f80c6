"""Each program loads the loss, adds and stores it: programs overwrite each other's sums.

Rejected at: correctness
On a GPU: may pass by luck, for programs may end one after the other
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
    before = tl.load(loss_ptr)
    tl.store(loss_ptr, before + tl.sum(difference * difference, axis=0) / n)


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    n = prediction.numel()
    loss.zero_()
    mse_kernel[(triton.cdiv(n, BLOCK),)](prediction, target, loss, n, BLOCK=BLOCK)
