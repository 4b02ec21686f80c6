"""Goes on by one place: right, but each thread does all elements after its first.

Rejected at: traffic
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    for i in range(cuda.grid(1), a.size):
        out[i] = a[i] / 2


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
