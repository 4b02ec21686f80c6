"""Starts blocks in x direction only: rows from 4 on have no thread.

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
    return (columns + ACROSS - 1) // ACROSS, 1


def add_bias(a, bias, out):
    add_bias_kernel[grid_for(a.shape[0], a.shape[1]), (ACROSS, DOWN)](a, bias, out)
