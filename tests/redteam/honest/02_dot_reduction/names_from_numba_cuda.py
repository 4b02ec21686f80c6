"""Grid and barrier are names imported from `numba.cuda`."""

import numpy as np
from numba import cuda, float32
from numba.cuda import grid, gridsize, syncthreads

THREADS = 256


@cuda.jit(device=True)
def block_sum(value):
    sums = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    sums[t] = value
    syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            sums[t] += sums[t + half]
        syncthreads()
        half //= 2
    return sums[0]


@cuda.jit
def dot_partials(a, b, partials):
    total = float32(0.0)
    for i in range(grid(1), a.size, gridsize(1)):
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


def dot(a, b, out):
    blocks = min(1024, (a.size + THREADS - 1) // THREADS)
    partials = cuda.device_array(blocks, np.float32)
    dot_partials[blocks, THREADS](a, b, partials)
    sum_partials[1, THREADS](partials, out)
