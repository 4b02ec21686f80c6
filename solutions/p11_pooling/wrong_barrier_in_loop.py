"""Waits inside an if that not every thread enters: threads meet at different barriers.

Rejected at: correctness
On a GPU: may pass by luck. Which barrier a thread waits at is not looked at there.
"""

from numba import cuda, float32

THREADS = 128
WINDOW = 4


@cuda.jit
def pool_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = a[t]
    cuda.syncthreads()
    largest = shared[t]
    for back in range(1, WINDOW):
        if t - back >= 0:
            largest = max(largest, shared[t - back])
            cuda.syncthreads()
    cuda.syncthreads()
    out[t] = largest


def pool(a, out):
    pool_kernel[1, a.size](a, out)
