"""`forall` chooses the blocks of a launch in which each thread adds a stretch of 32 products."""

import functools

import numpy as np
from numba import cuda, float32

STRETCH = 32


@cuda.jit
def stretches(a, b, sums):
    i = cuda.grid(1)
    if i < sums.size:
        total = float32(0.0)
        for k in range(i, a.size, sums.size):
            total += a[k] * b[k]
        sums[i] = total


@cuda.jit
def halved(sums, half):
    i = cuda.grid(1)
    if i < half and i + half < sums.size:
        sums[i] += sums[i + half]


@cuda.jit
def first(sums, out):
    out[0] = sums[0]


@functools.cache
def memory(size):
    return cuda.device_array(size, np.float32)


def dot(a, b, out):
    size = 1
    while size * STRETCH < a.size and size < 4096:
        size *= 2
    sums = memory(size)
    stretches.forall(size)(a, b, sums)
    while size > 1:
        size //= 2
        halved.forall(size)(sums[: 2 * size], size)
    first[1, 1](sums, out)
