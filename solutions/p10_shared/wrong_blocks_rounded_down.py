"""Rounds the number of blocks down: the last elements are never written.

Rejected at: correctness
"""

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
        out[start + t] = shared[t] - shared[count - 1 - t]


def mirror(a, out):
    blocks = max(1, a.size // THREADS)
    mirror_kernel[blocks, THREADS](a, out)
