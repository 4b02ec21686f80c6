"""Nothing is stored after the kept values.

Rejected at: correctness
"""

from numba import cuda, float32, int32

THREADS = 64


@cuda.jit(device=True)
def running_sums(counts):
    t = cuda.threadIdx.x
    by = 1
    while by < THREADS:
        cuda.syncthreads()
        before = 0
        if t >= by:
            before = counts[t - by]
        cuda.syncthreads()
        counts[t] += before
        by *= 2
    cuda.syncthreads()


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
    running_sums(counts)
    if value > 0:
        out[counts[t] - 1] = value


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
