import math

from numba import cuda, float32

THREADS = 32


@cuda.jit
def prefix_sum_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        shared[i] = a[i]
    cuda.syncthreads()
    by = 1
    while by < THREADS:
        before = float32(0.0)
        if t >= by and i < a.size:
            before = shared[i - by]
        cuda.syncthreads()
        if i < a.size:
            shared[i] += before
        cuda.syncthreads()
        by *= 2
    if i < a.size:
        out[i] = shared[i]


def prefix_sum(a, out):
    blocks = math.ceil(a.size / THREADS)
    prefix_sum_kernel[blocks, THREADS](a, out)
