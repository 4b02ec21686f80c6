"""Looks back past the first element: an index below 0 counts from the end.

Rejected at: correctness
On a GPU: may pass by luck. Shared memory that nobody wrote may hold the right number.
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
        largest = max(largest, shared[t - back])
    out[t] = largest


def pool(a, out):
    pool_kernel[1, a.size](a, out)
