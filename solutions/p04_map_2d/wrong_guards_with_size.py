"""The guard asks for the number of all elements: nearly every thread passes.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def add_ten_2d_kernel(a, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if row < a.size and column < a.size:
        out[row, column] = a[row, column] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
