"""Does not wait between writing to shared memory and reading from it.

Rejected at: correctness
On a GPU: may pass by luck. The 8 threads of a block are part of one warp, and mostly in step.
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
        shared[t] = a[start + t]
    if t < count:
        out[start + t] = shared[t] - shared[count - 1 - t]


def mirror(a, out):
    blocks = math.ceil(a.size / THREADS)
    mirror_kernel[blocks, THREADS](a, out)
