"""One thread of each block does all its elements, in an array of its own: no sharing.

Rejected at: counts
"""

import math

from numba import cuda, float32

THREADS = 8


@cuda.jit
def mirror_kernel(a, out):
    mine = cuda.local.array(THREADS, float32)
    start = cuda.blockIdx.x * THREADS
    count = min(THREADS, a.size - start)
    if cuda.threadIdx.x == 0:
        for i in range(count):
            mine[i] = a[start + i]
        for i in range(count):
            out[start + i] = mine[i] - mine[count - 1 - i]


def mirror(a, out):
    mirror_kernel[math.ceil(a.size / THREADS), THREADS](a, out)
