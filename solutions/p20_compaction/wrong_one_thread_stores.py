"""Thread 0 gets all values through shared memory and stores them alone: right, and in turn.

Rejected at: counts
"""

from numba import cuda, float32

THREADS = 64


@cuda.jit
def keep_positive_kernel(a, out):
    values = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    if t < a.size:
        values[t] = a[t]
    cuda.syncthreads()
    if t == 0:
        kept = 0
        for i in range(a.size):
            if values[i] > 0:
                out[kept] = values[i]
                kept += 1
        for i in range(kept, a.size):
            out[i] = 0.0


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
