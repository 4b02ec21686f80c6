"""Launch after launch, each of which shrinks the vector of sums, until one sum is left."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 64
PRODUCTS = 16


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
def dot_partials(a, b, partials):
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total


@cuda.jit
def shrink(values, count, sums):
    total = float32(0.0)
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        total += values[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = total


@functools.cache
def rooms_for(blocks):
    return cuda.device_array(blocks, np.float32), cuda.device_array(blocks, np.float32)


def blocks_for(count):
    return (count + THREADS * PRODUCTS - 1) // (THREADS * PRODUCTS)


def dot(a, b, out):
    count = min(blocks_for(a.size), 65536)
    source, target = rooms_for(count)
    dot_partials[count, THREADS](a, b, source)
    while count > 1:
        blocks = blocks_for(count)
        shrink[blocks, THREADS](source, count, target if blocks > 1 else out)
        source, target, count = target, source, blocks
    if a.size <= THREADS * PRODUCTS:
        shrink[1, THREADS](source, 1, out)
