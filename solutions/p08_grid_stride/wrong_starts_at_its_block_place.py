"""Starts at the place in the block: the second block does the first one's elements again.

Rejected at: correctness
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    for i in range(cuda.threadIdx.x, a.size, cuda.gridsize(1)):
        out[i] = a[i] / 2


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
