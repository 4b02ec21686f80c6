"""Each block moves one tile: threads read a row of it, meet, and write a row of the answer."""

from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose_kernel(x, out):
    tile = cuda.shared.array((TILE, 33), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * TILE + row, cuda.blockIdx.x * TILE + column
    if i < x.shape[0] and j < x.shape[1]:
        tile[row, column] = x[i, j]
    cuda.syncthreads()
    i, j = cuda.blockIdx.x * TILE + row, cuda.blockIdx.y * TILE + column
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = tile[column, row]


def transpose(x, out):
    rows, columns = x.shape
    grid = ((columns + TILE - 1) // TILE, (rows + TILE - 1) // TILE)
    transpose_kernel[grid, (TILE, TILE)](x, out)
