"""Two launches recorded as a CUDA graph, which reads grad_scale from the GPU's memory."""

# GPU only: CUDA graphs record what is launched on a GPU.

import torch
import triton
import triton.language as tl

BLOCK = 4096
MOST_GRAPHS = 64
graphs: dict[tuple[object, ...], tuple[torch.cuda.CUDAGraph, list[torch.Tensor]]] = {}


@triton.jit
def statistics(
    logits_ptr, target_ptr, loss_ptr, maxima_ptr, sums_ptr, stride, vocabulary, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    logits_row = logits_ptr + row * stride
    target = tl.load(target_ptr + row)
    lanes = tl.arange(0, BLOCK)
    if target == -100:
        tl.store(loss_ptr + row, 0.0)
        return
    chosen = tl.load(logits_row + target).to(tl.float32)
    row_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        inside = start + lanes < vocabulary
        x = tl.load(logits_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
        row_max = new_max
    total = tl.sum(sums, axis=0)
    tl.store(maxima_ptr + row, row_max)
    tl.store(sums_ptr + row, total)
    tl.store(loss_ptr + row, (row_max - chosen) + tl.log(total))


@triton.jit
def gradients(
    logits_ptr, target_ptr, maxima_ptr, sums_ptr, scale_ptr, stride, vocabulary, BLOCK: tl.constexpr
):
    blocks = tl.cdiv(vocabulary, BLOCK)
    row = tl.program_id(0).to(tl.int64) // blocks
    offsets = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < vocabulary
    at = logits_ptr + row * stride + offsets
    target = tl.load(target_ptr + row)
    if target == -100:
        tl.store(at, tl.zeros((BLOCK,), tl.float32), mask=inside)
    else:
        x = tl.load(at, mask=inside, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(x - tl.load(maxima_ptr + row)) / tl.load(sums_ptr + row)
        gradient -= tl.where(offsets == target, 1.0, 0.0)
        tl.store(at, tl.load(scale_ptr) * gradient, mask=inside)


def launch(logits, target, loss, maxima, sums, scale) -> None:
    tokens, vocabulary = logits.shape
    stride = logits.stride(0)
    statistics[(tokens,)](
        logits, target, loss, maxima, sums, stride, vocabulary, BLOCK=BLOCK, num_warps=8
    )
    gradients[(tokens * triton.cdiv(vocabulary, BLOCK),)](
        logits, target, maxima, sums, scale, stride, vocabulary, BLOCK=BLOCK, num_warps=8
    )


def record(logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor):
    tokens = logits.shape[0]
    maxima = torch.empty(tokens, dtype=torch.float32, device=logits.device)
    scratch = [maxima, torch.empty_like(maxima), torch.ones(1, device=logits.device)]
    # A recording may not compile. A first launch does, and what it overwrites is put back.
    kept = logits[:1].clone()
    launch(logits[:1], target[:1], loss[:1], *scratch)
    logits[:1].copy_(kept)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(logits, target, loss, *scratch)
    return graph, scratch


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    addresses = (tensor.data_ptr() for tensor in (logits, target, loss))
    key = (logits.dtype, logits.shape, logits.stride(), *addresses)
    if key not in graphs:
        if len(graphs) >= MOST_GRAPHS:
            graphs.clear()
        graphs[key] = record(logits, target, loss)
    graph, scratch = graphs[key]
    scratch[2].fill_(grad_scale)
    graph.replay()
