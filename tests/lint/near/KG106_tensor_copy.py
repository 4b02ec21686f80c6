"""Copies of other things, and stores inside a kernel."""

import copy

import torch
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x: torch.Tensor, out: torch.Tensor, sizes: dict[str, int]) -> None:
    mine = copy.copy(sizes)
    mine["copy"] = 1
    sizes["rows"] = x.shape[0]
    double[len(sizes.copy()), 32](x, out)
    assert x.is_contiguous()
    float(mine["copy"])
