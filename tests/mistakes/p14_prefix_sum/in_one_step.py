import math

from numba import cuda, float32

THREADS = 32


@cuda.jit
def prefix_sum_kernel(a, out):
    s = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i] if i < a.size else 0
    cuda.syncthreads()
    d = 1
    while d < THREADS:
        if t >= d:
            s[t] += s[t - d]
        cuda.syncthreads()
        d *= 2
    if i < a.size:
        out[i] = s[t]


def prefix_sum(a, out):
    blocks = math.ceil(a.size / THREADS)
    prefix_sum_kernel[blocks, THREADS](a, out)
