"""Looks back past the first element: an index below 0 counts from the end.

Rejected at: correctness
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
    by = 1
    while by < THREADS:
        before = float32(0.0)
        before = shared[t - by]
        cuda.syncthreads()
        shared[t] += before
        cuda.syncthreads()
        by *= 2
    if i < a.size:
        out[i] = shared[t]


def prefix_sum(a, out):
    blocks = math.ceil(a.size / THREADS)
    prefix_sum_kernel[blocks, THREADS](a, out)
