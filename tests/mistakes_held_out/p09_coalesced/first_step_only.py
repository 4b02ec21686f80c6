import math

from numba import cuda

THREADS = 32
EACH = 8
BLOCK = THREADS * EACH


@cuda.jit
def negate_kernel(a, out):
    i = cuda.blockIdx.x * BLOCK + cuda.threadIdx.x
    if i < a.size:
        out[i] = -a[i]


def negate(a, out):
    blocks = math.ceil(a.size / BLOCK)
    negate_kernel[blocks, THREADS](a, out)
