"""One thread goes through the table in two loops: right, and as slow as no GPU.

Rejected at: counts
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def add_ten_2d_kernel(a, out):
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        for row in range(a.shape[0]):
            for column in range(a.shape[1]):
                out[row, column] = a[row, column] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
