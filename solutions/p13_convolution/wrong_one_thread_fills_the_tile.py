"""Thread 0 fills all of the tile, and the others wait: right, and one read after the other.

Rejected at: counts
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
    if t == 0:
        for place in range(TILE):
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
    convolve_kernel[math.ceil(a.size / THREADS), THREADS](a, weights, out)
