"""The caller's own stream, an annotation, and other things called stream."""

import io

import torch
from numba import cuda

streams: list[torch.cuda.Stream] = []


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def stream(text: str) -> io.StringIO:
    return io.StringIO(text)


def run(x: torch.Tensor, out: torch.Tensor, on: torch.cuda.Stream | None = None) -> None:
    """Launches on the stream of the caller."""
    current = torch.cuda.current_stream()
    stream("torch.cuda.Stream()")
    double[1, 32, current.cuda_stream](x, out)
