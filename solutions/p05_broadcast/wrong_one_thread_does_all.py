"""One thread fills the table in two loops: right, and as slow as no GPU.

Rejected at: counts
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def products_kernel(a, b, out):
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        for row in range(a.size):
            for column in range(b.size):
                out[row, column] = a[row] * b[column]


def products(a, b, out):
    products_kernel[1, THREADS](a, b, out)
