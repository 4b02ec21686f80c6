from numba import cuda, float32

THREADS = 128
WINDOW = 4


@cuda.jit
def pool_kernel(a, out):
    tile = cuda.shared.array(THREADS, float32)
    i = cuda.threadIdx.x
    tile[i] = a[i]
    cuda.syncthreads()
    biggest = tile[i]
    for back in range(1, WINDOW - 1):
        if i - back >= 0:
            biggest = max(biggest, tile[i - back])
    out[i] = biggest


def pool(a, out):
    pool_kernel[1, a.size](a, out)
