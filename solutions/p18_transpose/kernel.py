"""Transpose: rows become columns, by way of a tile in shared memory without bank conflicts."""

from numba import cuda, float32

TILE = 32  # rows and columns of a tile; also the threads of a block along x
ROWS = 8  # the threads of a block along y: each thread moves TILE // ROWS elements


@cuda.jit
def transpose_kernel(x, out):
    """Each block moves one tile of x: block (bx, by) that from row by * TILE, column bx * TILE."""
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    top = cuda.blockIdx.y * TILE  # the tile's first row in x
    left = cuda.blockIdx.x * TILE  # the tile's first column in x
    # BEGIN SOLUTION: tile = a shared array of float32 for 32 times 32 elements, of the right shape
    tile = cuda.shared.array((32, 33), float32)  # one column more than is used
    # END SOLUTION
    for row in range(ty, TILE, ROWS):
        if top + row < x.shape[0] and left + tx < x.shape[1]:
            tile[row, tx] = x[top + row, left + tx]
    # BEGIN SOLUTION: when all of the tile is there, write its columns to out as rows
    cuda.syncthreads()
    for row in range(ty, TILE, ROWS):
        if left + row < out.shape[0] and top + tx < out.shape[1]:
            out[left + row, top + tx] = tile[tx, row]
    # END SOLUTION


def transpose(x, out):
    """Fills out, which has as many rows as x has columns, with x transposed: device arrays."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    tiles_down = (x.shape[0] + TILE - 1) // TILE
    tiles_across = (x.shape[1] + TILE - 1) // TILE
    transpose_kernel[(tiles_across, tiles_down), (TILE, ROWS)](x, out)
