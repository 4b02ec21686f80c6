"""Stops one element early: the last is never written.

Rejected at: correctness
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    for i in range(cuda.grid(1), a.size - 1, cuda.gridsize(1)):
        out[i] = a[i] / 2


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
