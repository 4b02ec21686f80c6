"""The first block does all elements, and the second does nothing: right, and half as fast.

Rejected at: counts
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, a.size, cuda.blockDim.x):
            out[i] = a[i] / 2


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
