"""The guard forgets the rows: threads below the table read and write past its end.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def add_ten_2d_kernel(a, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if column < a.shape[1]:
        out[row, column] = a[row, column] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
