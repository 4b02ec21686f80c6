"""The number of threads is the one of the example, whatever the length is.

Rejected at: correctness
On a GPU: may pass by luck. What lies after the array belongs to the process, and is not looked at.
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
    out[t] = largest


def pool(a, out):
    pool_kernel[1, 6](a, out)
