"""Takes x for the row and y for the column: columns from 8 on have no thread.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def add_ten_2d_kernel(a, out):
    row = cuda.threadIdx.x
    column = cuda.threadIdx.y
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = a[row, column] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
