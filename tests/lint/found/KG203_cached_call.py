"""Calls that are answered from a cache."""

import functools
from functools import lru_cache

import torch
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


@functools.cache  # KG203
def run(x, out):
    double[1, 32](x, out)


@lru_cache(maxsize=None)  # KG203
def shape(x: torch.Tensor):
    return x.shape


def launch(x, out):
    run(x, out)


fast = functools.cache(launch)  # KG203
