"""Starts 10 blocks down, enough for 40 rows: higher tables take more.

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
    grid = ((a.shape[1] + ACROSS - 1) // ACROSS, 10)
    add_bias_kernel[grid, (ACROSS, DOWN)](a, bias, out)
