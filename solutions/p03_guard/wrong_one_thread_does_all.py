"""One thread does all elements, so that none needs a guard: right, and as slow as no GPU.

Rejected at: counts
"""

from numba import cuda

THREADS = 64


@cuda.jit
def double_kernel(a, out):
    if cuda.threadIdx.x == 0:
        for i in range(a.size):
            out[i] = a[i] * 2


def double(a, out):
    double_kernel[1, THREADS](a, out)
