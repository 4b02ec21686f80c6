"""Takes the row from x and the column from y: cuda.grid(2) gives x first.

Rejected at: correctness
"""

from numba import cuda

ACROSS, DOWN = 8, 4


@cuda.jit
def add_bias_kernel(a, bias, out):
    row, column = cuda.grid(2)
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = a[row, column] + bias[column]


def grid_for(rows, columns):
    return (columns + ACROSS - 1) // ACROSS, (rows + DOWN - 1) // DOWN


def add_bias(a, bias, out):
    add_bias_kernel[grid_for(a.shape[0], a.shape[1]), (ACROSS, DOWN)](a, bias, out)
