"""A thread for each row goes through its columns: right, and the others do nothing.

Rejected at: counts
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def add_ten_2d_kernel(a, out):
    row = cuda.threadIdx.y
    if row < a.shape[0] and cuda.threadIdx.x == 0:
        for column in range(a.shape[1]):
            out[row, column] = a[row, column] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
