"""Takes the whole window from a: each element is read from memory four times.

Rejected at: traffic
"""

from numba import cuda, float32

THREADS = 128
WINDOW = 4


@cuda.jit
def pool_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    largest = a[t]
    for back in range(1, WINDOW):
        if t - back >= 0:
            largest = max(largest, a[t - back])
    out[t] = largest


def pool(a, out):
    pool_kernel[1, a.size](a, out)
