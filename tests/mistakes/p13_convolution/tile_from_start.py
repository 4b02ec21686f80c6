import math

from numba import cuda, float32

THREADS = 16
WIDTH = 4
TILE = THREADS + WIDTH - 1


@cuda.jit
def convolve_kernel(a, weights, out):
    tile = cuda.shared.array(TILE, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * THREADS
    for p in range(t, TILE, THREADS):
        tile[start + p] = a[start + p] if start + p < a.size else 0
    cuda.syncthreads()
    if start + t < a.size:
        total = float32(0.0)
        for k in range(WIDTH):
            total += weights[k] * tile[start + t + k]
        out[start + t] = total


def convolve(a, weights, out):
    blocks = math.ceil(a.size / THREADS)
    convolve_kernel[blocks, THREADS](a, weights, out)
