import math

from numba import cuda, float32

THREADS = 8


@cuda.jit
def mirror_kernel(a, out):
    cache = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * THREADS
    count = min(THREADS, a.size - start)
    if t < count:
        cache[t] = a[start + t]
        out[start + t] = cache[t] - cache[count - 1 - t]


def mirror(a, out):
    blocks = math.ceil(a.size / THREADS)
    mirror_kernel[blocks, THREADS](a, out)
