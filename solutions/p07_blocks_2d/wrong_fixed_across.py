"""Starts 10 blocks across, enough for 80 columns: wider tables take more.

Rejected at: correctness
"""

from numba import cuda

ACROSS, DOWN = 8, 4


@cuda.jit
def add_bias_kernel(a, bias, out):
    column, row = cuda.grid(2)
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = a[row, column] + bias[column]


def add_bias(a, bias, out):
    grid = (10, (a.shape[0] + DOWN - 1) // DOWN)
    add_bias_kernel[grid, (ACROSS, DOWN)](a, bias, out)
