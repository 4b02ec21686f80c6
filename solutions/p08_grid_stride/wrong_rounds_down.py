"""Rounds the number of steps down: the elements of the last, incomplete one are lost.

Rejected at: correctness
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    i = cuda.grid(1)
    for _ in range(a.size // cuda.gridsize(1)):
        out[i] = a[i] / 2
        i += cuda.gridsize(1)


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
