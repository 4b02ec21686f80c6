"""Each thread adds a stretch of neighbouring elements, one after the other."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 128
MOST_BLOCKS = 4096


@cuda.jit(device=True)
def block_sum(value):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    return shared[0]


@cuda.jit
def dot_partials(a, b, partials, stretch):
    start = cuda.grid(1) * stretch
    stop = min(start + stretch, a.size)
    total = float32(0.0)
    for i in range(start, stop):
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
    blocks = min(MOST_BLOCKS, (a.size + 8 * THREADS - 1) // (8 * THREADS))
    stretch = (a.size + blocks * THREADS - 1) // (blocks * THREADS)
    partials = room_for(blocks)
    dot_partials[blocks, THREADS](a, b, partials, stretch)
    sum_partials[1, THREADS](partials, out)
