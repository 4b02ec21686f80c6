"""Waits at two barriers, one for each half of the block: no half ever meets the other.

Rejected at: correctness
On a GPU: may pass by luck. Which barrier a thread waits at is not looked at there.
"""

import math

from numba import cuda, float32

THREADS = 8


@cuda.jit
def mirror_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * THREADS
    count = min(THREADS, a.size - start)
    if t < THREADS // 2:
        if t < count:
            shared[t] = a[start + t]
        cuda.syncthreads()
    else:
        if t < count:
            shared[t] = a[start + t]
        cuda.syncthreads()
    if t < count:
        out[start + t] = shared[t] - shared[count - 1 - t]


def mirror(a, out):
    blocks = math.ceil(a.size / THREADS)
    mirror_kernel[blocks, THREADS](a, out)
