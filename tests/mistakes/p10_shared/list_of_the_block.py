import math

from numba import cuda

THREADS = 8


@cuda.jit
def mirror_kernel(a, out):
    shared = [0.0] * THREADS
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * THREADS
    count = min(THREADS, a.size - start)
    if t < count:
        shared[t] = a[start + t]
    cuda.syncthreads()
    if t < count:
        out[start + t] = shared[t] - shared[count - 1 - t]


def mirror(a, out):
    blocks = math.ceil(a.size / THREADS)
    mirror_kernel[blocks, THREADS](a, out)
