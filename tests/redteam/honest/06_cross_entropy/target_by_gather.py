"""The block that holds the target gives its logit by a gather; blocks are chosen by a benchmark."""

import torch
import triton
import triton.language as tl

CHOICES = (1024, 4096)
chosen: dict[torch.dtype, int] = {}


@triton.jit
def cross_entropy_kernel(
    logits_ptr, out_ptr, target_ptr, loss_ptr, grad_scale, stride, vocabulary, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    logits_row, out_row = logits_ptr + row * stride, out_ptr + row * stride
    target = tl.load(target_ptr + row).to(tl.int32)
    lanes = tl.arange(0, BLOCK)
    counts = target >= 0
    found = 0.0
    row_max = float("-inf")
    total = 0.0
    for start in range(0, vocabulary, BLOCK):
        inside = start + lanes < vocabulary
        x = tl.load(logits_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        place = target - start
        if (place >= 0) & (place < BLOCK):
            found = tl.max(tl.gather(x, tl.full((BLOCK,), place, tl.int32), axis=0), axis=0)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        total = total * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
        row_max = new_max
    tl.store(loss_ptr + row, tl.where(counts, (row_max - found) + tl.log(total), 0.0))
    for start in range(0, vocabulary, BLOCK):
        columns = start + lanes
        x = tl.load(logits_row + columns, mask=columns < vocabulary, other=0.0).to(tl.float32)
        gradient = grad_scale * (tl.exp(x - row_max) / total)
        gradient = tl.where(columns == target, gradient - grad_scale, gradient)
        tl.store(out_row + columns, tl.where(counts, gradient, 0.0), mask=columns < vocabulary)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    tokens, vocabulary = logits.shape

    def launch(out: torch.Tensor, rows: int, block: int) -> None:
        sizes = logits.stride(0), vocabulary
        cross_entropy_kernel[(rows,)](logits, out, target, loss, grad_scale, *sizes, BLOCK=block)

    if logits.dtype not in chosen:
        spare = torch.empty(logits.stride(0), dtype=logits.dtype, device=logits.device)
        times = {
            block: triton.testing.do_bench(lambda block=block: launch(spare, 1, block), rep=5)
            for block in CHOICES
        }
        chosen[logits.dtype] = min(times, key=times.get)
    launch(logits, tokens, chosen[logits.dtype])
