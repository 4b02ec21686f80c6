from numba import cuda, float32

TILE = 32
ROWS = 8


@cuda.jit
def transpose_kernel(x, out):
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    tile = cuda.shared.array((32, 33), float32)
    for row in range(ty, TILE, ROWS):
        tile[row, tx] = 0
        if top + row < x.shape[0] and left + tx < x.shape[1]:
            tile[row, tx] = x[top + row, left + tx]
    cuda.syncthreads()
    for row in range(ty, TILE, ROWS):
        if left + row < out.shape[0] and top + tx < out.shape[1]:
            out[left + row, top + tx] = tile[row, tx]


def transpose(x, out):
    tiles_down = (x.shape[0] + TILE - 1) // TILE
    tiles_across = (x.shape[1] + TILE - 1) // TILE
    transpose_kernel[(tiles_across, tiles_down), (TILE, ROWS)](x, out)
