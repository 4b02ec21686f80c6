"""One block of one thread does all elements: right, and as slow as no GPU.

Rejected at: counts
"""

from numba import cuda


@cuda.jit
def add_place_kernel(a, out):
    for i in range(a.size):
        out[i] = a[i] + i


def add_place(a, out):
    add_place_kernel[1, 1](a, out)
