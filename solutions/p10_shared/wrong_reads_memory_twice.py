"""Takes both elements from a and none from shared memory: each is read twice.

Rejected at: traffic
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
    if t < count:
        out[start + t] = a[start + t] - a[start + count - 1 - t]


def mirror(a, out):
    blocks = math.ceil(a.size / THREADS)
    mirror_kernel[blocks, THREADS](a, out)
