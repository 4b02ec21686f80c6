"""Takes every element of a window from a: each is read four times.

Rejected at: traffic
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
    if start + t < a.size:
        total = float32(0.0)
        for k in range(WIDTH):
            if start + t + k < a.size:
                total += weights[k] * a[start + t + k]
        out[start + t] = total


def convolve(a, weights, out):
    blocks = math.ceil(a.size / THREADS)
    convolve_kernel[blocks, THREADS](a, weights, out)
