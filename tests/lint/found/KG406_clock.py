"""Clocks."""

import time
from time import perf_counter

import torch
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    begin = perf_counter()  # KG406
    double[1, 32](x, out)
    time.sleep(perf_counter() - begin)  # KG406
    torch.cuda.Event(enable_timing=True).record()  # KG406
