"""Each thread takes four neighbours at a time, with fused multiply-adds."""

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
def dot_partials(a, b, partials):
    total = float32(0.0)
    for quad in range(cuda.grid(1), a.size // 4, cuda.gridsize(1)):
        i = 4 * quad
        total = cuda.fma(a[i], b[i], total)
        total = cuda.fma(a[i + 1], b[i + 1], total)
        total = cuda.fma(a[i + 2], b[i + 2], total)
        total = cuda.fma(a[i + 3], b[i + 3], total)
    rest = a.size // 4 * 4 + cuda.grid(1)
    if rest < a.size:
        total = cuda.fma(a[rest], b[rest], total)
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
