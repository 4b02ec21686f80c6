"""Divides the columns by the block's height and the rows by its width.

Rejected at: correctness
"""

from numba import cuda

ACROSS, DOWN = 8, 4


@cuda.jit
def add_bias_kernel(a, bias, out):
    column, row = cuda.grid(2)
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = a[row, column] + bias[column]


def grid_for(rows, columns):
    return (columns + DOWN - 1) // DOWN, (rows + ACROSS - 1) // ACROSS


def add_bias(a, bias, out):
    add_bias_kernel[grid_for(a.shape[0], a.shape[1]), (ACROSS, DOWN)](a, bias, out)
