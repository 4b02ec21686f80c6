"""Does not look how many elements the block has: the last one reads and writes past the end.

Rejected at: correctness
On a GPU: may pass by luck. What lies after the array belongs to the process, and is not looked at.
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
    shared[t] = a[start + t]
    cuda.syncthreads()
    out[start + t] = shared[t] - shared[count - 1 - t]


def mirror(a, out):
    blocks = math.ceil(a.size / THREADS)
    mirror_kernel[blocks, THREADS](a, out)
