"""Goes on by the threads of one block: right, but the second block does most elements again.

Rejected at: traffic
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    for i in range(cuda.grid(1), a.size, cuda.blockDim.x):
        out[i] = a[i] / 2


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
