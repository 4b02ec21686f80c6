"""Takes every block for full: in the last one it reads shared memory that nobody wrote.

Rejected at: correctness
On a GPU: may pass by luck. Shared memory that nobody wrote may hold the right number.
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
    cuda.syncthreads()
    if t < count:
        out[start + t] = shared[t] - shared[THREADS - 1 - t]


def mirror(a, out):
    blocks = math.ceil(a.size / THREADS)
    mirror_kernel[blocks, THREADS](a, out)
