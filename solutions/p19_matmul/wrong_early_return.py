"""Threads outside of out return at once: what they should bring is missing in the tiles.

Rejected at: correctness
On a GPU: may pass by luck, because it depends on what the memory held.
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
    if row >= out.shape[0] or column >= out.shape[1]:
        return
    total = float32(0.0)
    for start in range(0, a.shape[1], TILE):
        tile_a[ty, tx] = 0.0
        if row < a.shape[0] and start + tx < a.shape[1]:
            tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = 0.0
        if start + ty < b.shape[0] and column < b.shape[1]:
            tile_b[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    out[row, column] = total


def matmul(a, b, out):
    tiles_down = (out.shape[0] + TILE - 1) // TILE
    tiles_across = (out.shape[1] + TILE - 1) // TILE
    matmul_kernel[(tiles_across, tiles_down), (TILE, TILE)](a, b, out)
