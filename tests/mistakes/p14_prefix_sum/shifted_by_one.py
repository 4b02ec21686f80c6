import math

from numba import cuda, float32

THREADS = 32


@cuda.jit
def prefix_sum_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = a[i] if i < a.size else 0
    cuda.syncthreads()
    by = 1
    while by < THREADS:
        before = float32(0.0)
        if t >= by:
            before = shared[t - by]
        cuda.syncthreads()
        shared[t] += before
        cuda.syncthreads()
        by *= 2
    if i < a.size:
        out[i] = shared[t - 1] if t > 0 else 0


def prefix_sum(a, out):
    blocks = math.ceil(a.size / THREADS)
    prefix_sum_kernel[blocks, THREADS](a, out)
