"""Two halves on two streams of their own, which the caller's stream waits for."""

import torch
import triton
import triton.language as tl

BLOCK = 1024
streams: list[torch.cuda.Stream] = []


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, start, stop, BLOCK: tl.constexpr):
    offsets = start + tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < stop
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    if not streams:
        streams.extend(torch.cuda.Stream() for _ in range(2))
    n = out.numel()
    middle = n // 2 // BLOCK * BLOCK
    caller = torch.cuda.current_stream()
    for stream, start, stop in zip(streams, (0, middle), (middle, n), strict=True):
        if start == stop:
            continue
        stream.wait_stream(caller)
        with torch.cuda.stream(stream):
            add_kernel[(triton.cdiv(stop - start, BLOCK),)](x, y, out, start, stop, BLOCK=BLOCK)
        caller.wait_stream(stream)
