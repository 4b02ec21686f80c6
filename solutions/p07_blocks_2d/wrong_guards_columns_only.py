"""The guard forgets the rows: threads below the table read and write past its end.

Rejected at: correctness
"""

from numba import cuda

ACROSS, DOWN = 8, 4


@cuda.jit
def add_bias_kernel(a, bias, out):
    column, row = cuda.grid(2)
    if column < a.shape[1]:
        out[row, column] = a[row, column] + bias[column]


def grid_for(rows, columns):
    return (columns + ACROSS - 1) // ACROSS, (rows + DOWN - 1) // DOWN


def add_bias(a, bias, out):
    add_bias_kernel[grid_for(a.shape[0], a.shape[1]), (ACROSS, DOWN)](a, bias, out)
