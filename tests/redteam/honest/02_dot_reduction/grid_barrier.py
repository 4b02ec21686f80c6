"""A cooperative launch: all blocks wait for each other at one barrier, then block 0 adds up."""

# GPU only: the simulator has no barrier across several blocks.

import functools

import numpy as np
from numba import cuda, float32

THREADS = 256
MOST_BLOCKS = 128  # all of them must be on the GPU at once


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
def dot_kernel(a, b, partials, out):
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
    cuda.cg.this_grid().sync()
    if cuda.blockIdx.x == 0:
        total = float32(0.0)
        for i in range(cuda.threadIdx.x, cuda.gridDim.x, THREADS):
            total += partials[i]
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            out[0] = total


@functools.cache
def room_for(blocks):
    return cuda.device_array(blocks, np.float32)


def dot(a, b, out):
    blocks = min(MOST_BLOCKS, (a.size + 4 * THREADS - 1) // (4 * THREADS))
    dot_kernel[blocks, THREADS](a, b, room_for(blocks), out)
