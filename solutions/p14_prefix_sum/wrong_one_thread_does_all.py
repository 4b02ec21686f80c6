"""One thread of each block adds all its elements in a variable: no steps, nothing shared.

Rejected at: counts
"""

import math

from numba import cuda, float32

THREADS = 32


@cuda.jit
def prefix_sum_kernel(a, out):
    if cuda.threadIdx.x == 0:
        start = cuda.blockIdx.x * THREADS
        total = float32(0.0)
        for i in range(start, min(start + THREADS, a.size)):
            total += a[i]
            out[i] = total


def prefix_sum(a, out):
    prefix_sum_kernel[math.ceil(a.size / THREADS), THREADS](a, out)
