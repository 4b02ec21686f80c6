"""The 0 or 1 of each thread is taken for its place.

Rejected at: correctness
"""

from numba import cuda, float32, int32

THREADS = 64


@cuda.jit
def keep_positive_kernel(a, out):
    counts = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    value = float32(0.0)
    if t < a.size:
        value = a[t]
    counts[t] = 0
    if value > 0:
        counts[t] = 1
    cuda.syncthreads()
    if value > 0:
        out[counts[t] - 1] = value
    kept = counts[THREADS - 1]
    if kept <= t and t < out.size:
        out[t] = 0.0


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
