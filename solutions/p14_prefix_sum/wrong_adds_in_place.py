"""Reads and writes in one line: a thread may add what its neighbour has already summed up.

Rejected at: correctness
On a GPU: may pass by luck. The 32 threads of a block are one warp, and mostly in step.
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
        if t >= by:
            shared[t] += shared[t - by]
        cuda.syncthreads()
        by *= 2
    if i < a.size:
        out[i] = shared[t]


def prefix_sum(a, out):
    blocks = math.ceil(a.size / THREADS)
    prefix_sum_kernel[blocks, THREADS](a, out)
