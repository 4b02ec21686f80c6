"""One thread does all elements, and the others do nothing: right, and as slow as no GPU.

Rejected at: counts
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    if cuda.grid(1) == 0:
        for i in range(a.size):
            out[i] = a[i] / 2


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
