"""Only threads that keep their value come to the barriers of the running sum.

Rejected at: correctness
On a GPU: may pass by luck, because the hardware lets a barrier pass when the others have ended.
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
    if value > 0:
        running_sums(counts)
        out[counts[t] - 1] = value
    kept = counts[THREADS - 1]
    if kept <= t and t < out.size:
        out[t] = 0.0


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
