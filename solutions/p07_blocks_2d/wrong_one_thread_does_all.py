"""One block of one thread goes through the table in two loops: right, and as slow as no GPU.

Rejected at: counts
"""

from numba import cuda


@cuda.jit
def add_bias_kernel(a, bias, out):
    for row in range(a.shape[0]):
        for column in range(a.shape[1]):
            out[row, column] = a[row, column] + bias[column]


def add_bias(a, bias, out):
    add_bias_kernel[1, 1](a, bias, out)
