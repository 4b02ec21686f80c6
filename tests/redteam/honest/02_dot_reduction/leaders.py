"""No tree: one thread of each group of 32 adds its group's values, then one adds the groups."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 128
GROUP = 32
GROUPS = THREADS // GROUP  # a name, because numba asks for a constant
MOST_BLOCKS = 4096


@cuda.jit(device=True)
def block_sum(value):
    values = cuda.shared.array(THREADS, float32)
    sums = cuda.shared.array(GROUPS, float32)
    t = cuda.threadIdx.x
    values[t] = value
    cuda.syncthreads()
    if t < GROUPS:
        total = float32(0.0)
        for i in range(GROUP):
            total += values[t * GROUP + i]
        sums[t] = total
    cuda.syncthreads()
    total = float32(0.0)
    for i in range(GROUPS):
        total += sums[i]
    cuda.syncthreads()
    return total


@cuda.jit
def dot_partials(a, b, partials):
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total


@cuda.jit
def sum_partials(partials, out):
    total = float32(0.0)
    for i in range(cuda.threadIdx.x, partials.size, THREADS):
        total += partials[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        out[0] = total


@functools.cache
def room_for(blocks):
    return cuda.device_array(blocks, np.float32)


def dot(a, b, out):
    blocks = min(MOST_BLOCKS, (a.size + 4 * THREADS - 1) // (4 * THREADS))
    partials = room_for(blocks)
    dot_partials[blocks, THREADS](a, b, partials)
    sum_partials[1, THREADS](partials, out)
