"""Forgets the row: all threads work on row 0.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def add_ten_2d_kernel(a, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if row < a.shape[0] and column < a.shape[1]:
        out[0, column] = a[0, column] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
