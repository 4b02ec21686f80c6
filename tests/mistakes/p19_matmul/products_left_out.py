from numba import cuda, float32

TILE = 8


@cuda.jit
def matmul_kernel(a, b, out):
    sa = cuda.shared.array((8, 8), float32)
    sb = cuda.shared.array((8, 8), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0.0)
    for k in range(a.shape[1] // TILE):
        sa[ty, tx] = 0.0
        if row < a.shape[0] and k * TILE + tx < a.shape[1]:
            sa[ty, tx] = a[row, k * TILE + tx]
        sb[ty, tx] = 0.0
        if k * TILE + ty < b.shape[0] and col < b.shape[1]:
            sb[ty, tx] = b[k * TILE + ty, col]
        cuda.syncthreads()
        for j in range(TILE):
            acc += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


def matmul(a, b, out):
    tiles_down = (out.shape[0] + TILE - 1) // TILE
    tiles_across = (out.shape[1] + TILE - 1) // TILE
    matmul_kernel[(tiles_across, tiles_down), (TILE, TILE)](a, b, out)
