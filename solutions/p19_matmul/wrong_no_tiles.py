"""Each thread reads its row of a and its column of b: right, but all of them many times.

Rejected at: traffic
"""

from numba import cuda, float32

TILE = 8


@cuda.jit
def matmul_kernel(a, b, out):
    row = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    column = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    if row < out.shape[0] and column < out.shape[1]:
        total = float32(0.0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, column]
        out[row, column] = total


def matmul(a, b, out):
    tiles_down = (out.shape[0] + TILE - 1) // TILE
    tiles_across = (out.shape[1] + TILE - 1) // TILE
    matmul_kernel[(tiles_across, tiles_down), (TILE, TILE)](a, b, out)
