"""Brings the block's own elements and no halo: the last threads read what nobody wrote.

Rejected at: correctness
On a GPU: may pass by luck. Shared memory that nobody wrote may hold the right number.
"""

import math

from numba import cuda, float32

THREADS = 16
WIDTH = 4
TILE = THREADS + WIDTH - 1


@cuda.jit
def convolve_kernel(a, weights, out):
    shared = cuda.shared.array(TILE, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * THREADS
    for place in range(t, THREADS, THREADS):
        if start + place < a.size:
            shared[place] = a[start + place]
        else:
            shared[place] = 0
    cuda.syncthreads()
    if start + t < a.size:
        total = float32(0.0)
        for k in range(WIDTH):
            total += weights[k] * shared[t + k]
        out[start + t] = total


def convolve(a, weights, out):
    blocks = math.ceil(a.size / THREADS)
    convolve_kernel[blocks, THREADS](a, weights, out)
