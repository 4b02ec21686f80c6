"""Partial sums of a grid-stride loop, which a function made by `cuda.reduce` adds up."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 128
BLOCKS = 16


@cuda.reduce
def add_up(a, b):
    return a + b


@cuda.jit
def own_sums(a, b, sums):
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    sums[cuda.grid(1)] = total


@functools.cache
def memory():
    return cuda.device_array(BLOCKS * THREADS, np.float32)


def dot(a, b, out):
    sums = memory()
    own_sums[BLOCKS, THREADS](a, b, sums)
    add_up(sums, res=out, init=0)
