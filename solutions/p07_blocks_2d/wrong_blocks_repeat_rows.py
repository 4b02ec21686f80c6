"""Every block goes down through all rows: right, but all is read once for each row of blocks.

Rejected at: traffic
"""

from numba import cuda

ACROSS, DOWN = 8, 4


@cuda.jit
def add_bias_kernel(a, bias, out):
    column = cuda.grid(2)[0]
    if column < a.shape[1]:
        for row in range(cuda.threadIdx.y, a.shape[0], cuda.blockDim.y):
            out[row, column] = a[row, column] + bias[column]


def grid_for(rows, columns):
    return (columns + ACROSS - 1) // ACROSS, (rows + DOWN - 1) // DOWN


def add_bias(a, bias, out):
    add_bias_kernel[grid_for(a.shape[0], a.shape[1]), (ACROSS, DOWN)](a, bias, out)
