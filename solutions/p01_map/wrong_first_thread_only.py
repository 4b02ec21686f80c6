"""Every thread works on element 0: the others are never written.

Rejected at: correctness
"""

from numba import cuda


@cuda.jit
def add_ten_kernel(a, out):
    out[0] = a[0] + 10


def add_ten(a, out):
    add_ten_kernel[1, a.size](a, out)
