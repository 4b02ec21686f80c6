"""Parts of a row add to its maximum and sum behind a lock, as the layer norm of a tutorial does."""

import torch
import triton
import triton.language as tl

BLOCK = 2048
SPLITS = 4


@triton.jit
def merge_parts(x_ptr, state_ptr, lock_ptr, x_stride, columns, part, BLOCK: tl.constexpr):
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stop = tl.minimum((split + 1) * part, columns)
    part_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(split * part, stop, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + offsets, offsets < stop, other=float("-inf"))
        x = x.to(tl.float32)
        new_max = tl.maximum(part_max, tl.max(x, axis=0))
        sums = sums * tl.exp(part_max - new_max) + tl.exp(x - new_max)
        part_max = new_max
    total = tl.sum(sums, axis=0)
    if split * part < columns:
        while tl.atomic_cas(lock_ptr + row, 0, 1) == 1:
            pass
        seen_max = tl.load(state_ptr + 2 * row, volatile=True)
        seen = tl.load(state_ptr + 2 * row + 1, volatile=True)
        row_max = tl.maximum(seen_max, part_max)
        seen = seen * tl.exp(seen_max - row_max) + total * tl.exp(part_max - row_max)
        tl.debug_barrier()  # read by all threads before one writes
        tl.store(state_ptr + 2 * row, row_max)
        tl.store(state_ptr + 2 * row + 1, seen)
        tl.debug_barrier()  # written before the lock is free
        tl.atomic_xchg(lock_ptr + row, 0)


@triton.jit
def answers(x_ptr, state_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row_max, total = tl.load(state_ptr + 2 * row), tl.load(state_ptr + 2 * row + 1)
    x = tl.load(x_ptr + row * x_stride + offsets, mask=offsets < columns).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, tl.exp(x - row_max) / total, offsets < columns)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    blocks = triton.cdiv(columns, BLOCK)
    state = torch.zeros((rows, 2), dtype=torch.float32, device=x.device)
    state[:, 0] = float("-inf")
    locks = torch.zeros(rows, dtype=torch.int32, device=x.device)
    part = triton.cdiv(blocks, SPLITS) * BLOCK
    merge_parts[(rows, SPLITS)](x, state, locks, x.stride(0), columns, part, BLOCK=BLOCK)
    answers[(rows, blocks)](x, state, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK)
