"""Fills the tiles without a bounds check: reads past the end of a and b.

Rejected at: correctness
On a GPU: may pass by luck, because it depends on what lies past the end.
"""

from numba import cuda, float32

TILE = 8


@cuda.jit
def matmul_kernel(a, b, out):
    tile_a = cuda.shared.array((8, 8), float32)
    tile_b = cuda.shared.array((8, 8), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + ty
    column = cuda.blockIdx.x * TILE + tx
    total = float32(0.0)
    for start in range(0, a.shape[1], TILE):
        tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = total


def matmul(a, b, out):
    tiles_down = (out.shape[0] + TILE - 1) // TILE
    tiles_across = (out.shape[1] + TILE - 1) // TILE
    matmul_kernel[(tiles_across, tiles_down), (TILE, TILE)](a, b, out)
