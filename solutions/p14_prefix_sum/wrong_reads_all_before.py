"""Each thread adds up all elements before it by itself: 32 reads where five are enough.

Rejected at: counts
"""

import math

from numba import cuda, float32

THREADS = 32


@cuda.jit
def prefix_sum_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        shared[t] = a[i]
    else:
        shared[t] = 0
    cuda.syncthreads()
    total = float32(0.0)
    for k in range(t + 1):
        total += shared[k]
    if i < a.size:
        out[i] = total


def prefix_sum(a, out):
    blocks = math.ceil(a.size / THREADS)
    prefix_sum_kernel[blocks, THREADS](a, out)
