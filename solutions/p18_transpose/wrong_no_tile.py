"""Writes straight to out: right, but 32 pieces of memory for 32 elements.

Rejected at: counts
"""

from numba import cuda

TILE = 32
ROWS = 8


@cuda.jit
def transpose_kernel(x, out):
    column = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    top = cuda.blockIdx.y * TILE
    for row in range(top + cuda.threadIdx.y, top + TILE, ROWS):
        if row < x.shape[0] and column < x.shape[1]:
            out[column, row] = x[row, column]


def transpose(x, out):
    tiles_down = (x.shape[0] + TILE - 1) // TILE
    tiles_across = (x.shape[1] + TILE - 1) // TILE
    transpose_kernel[(tiles_across, tiles_down), (TILE, ROWS)](x, out)
