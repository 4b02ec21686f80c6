"""Takes 16 steps, enough for 512 elements, whatever the length is: longer arrays have more.

Rejected at: correctness
"""

from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    for k in range(16):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        if i < a.size:
            out[i] = a[i] / 2


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
