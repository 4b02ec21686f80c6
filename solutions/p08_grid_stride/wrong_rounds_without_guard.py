"""Rounds the number of steps up and does not ask in the last: it goes past the end.

Rejected at: correctness
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    i = cuda.grid(1)
    for _ in range((a.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)):
        out[i] = a[i] / 2
        i += cuda.gridsize(1)


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
