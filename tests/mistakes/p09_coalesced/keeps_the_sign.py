import math

from numba import cuda

THREADS = 32
EACH = 8
BLOCK = THREADS * EACH


@cuda.jit
def negate_kernel(a, out):
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for step in range(EACH):
        i = start + step * THREADS + t
        if i < a.size:
            out[i] = a[i]


def negate(a, out):
    blocks = math.ceil(a.size / BLOCK)
    negate_kernel[blocks, THREADS](a, out)
