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
    # TODO: tile = a shared array of float32 for 32 times 32 elements, of the right shape
    pass
    for row in range(ty, TILE, ROWS):
        if top + row < x.shape[0] and left + tx < x.shape[1]:
            tile[row, tx] = x[top + row, left + tx]
    # TODO: when all of the tile is there, write its columns to out as rows
    pass


def transpose(x, out):
    """Fills out, which has as many rows as x has columns, with x transposed: device arrays."""
    raise NotImplementedError("p18_transpose: write the kernel above, then delete this line")
    tiles_down = (x.shape[0] + TILE - 1) // TILE
    tiles_across = (x.shape[1] + TILE - 1) // TILE
    transpose_kernel[(tiles_across, tiles_down), (TILE, ROWS)](x, out)
