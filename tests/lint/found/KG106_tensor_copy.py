"""Data is copied beside the kernel."""

import torch
from numba import cuda
from torch import clone as twin


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x: torch.Tensor, out: torch.Tensor) -> None:
    double[1, 32](x.contiguous(), out)  # KG106
    y = twin(x)  # KG106
    out.copy_(y)  # KG106
    y.float()  # KG106
    out[:] = y  # KG106
    out.view(-1)[0] = 1.0  # KG106
    x.T.to(torch.float16)  # KG106
