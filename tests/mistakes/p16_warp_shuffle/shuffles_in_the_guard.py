from numba import cuda, float32

THREADS = 64
EVERY_LANE = 0xFFFFFFFF


@cuda.jit
def warp_sums_kernel(a, out):
    i = cuda.grid(1)
    lane = cuda.laneid
    if i < a.size:
        value = a[i]
        by = 16
        while by > 0:
            value += cuda.shfl_down_sync(EVERY_LANE, value, by)
            by //= 2
        if lane == 0:
            out[i // 32] = value


def warp_sums(a, out):
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
