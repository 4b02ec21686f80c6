"""One thread does all elements, and the others do nothing: right, and as slow as no GPU.

Rejected at: counts
"""

from numba import cuda


@cuda.jit
def add_ten_kernel(a, out):
    if cuda.threadIdx.x == 0:
        for i in range(a.size):
            out[i] = a[i] + 10


def add_ten(a, out):
    add_ten_kernel[1, a.size](a, out)
