"""Blocks in 2-D: add a row to every row of a table, with blocks in both directions."""

from numba import cuda

ACROSS, DOWN = 8, 4  # threads of a block in x direction and in y direction


@cuda.jit
def add_bias_kernel(a, bias, out):
    """Runs once in every thread of every block."""
    # BEGIN SOLUTION: out[row, column] is a[row, column] + bias[column]: which row, which column?
    column, row = cuda.grid(2)
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = a[row, column] + bias[column]
    # END SOLUTION


def grid_for(rows, columns):
    """How many blocks it takes in x direction and in y direction, as a pair."""
    # BEGIN SOLUTION: write the kernel above, then the two numbers of blocks here
    return (columns + ACROSS - 1) // ACROSS, (rows + DOWN - 1) // DOWN
    # END SOLUTION


def add_bias(a, bias, out):
    """Fills out with a + bias: out is like a, which has as many columns as bias has elements."""
    add_bias_kernel[grid_for(a.shape[0], a.shape[1]), (ACROSS, DOWN)](a, bias, out)
