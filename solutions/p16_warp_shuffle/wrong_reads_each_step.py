"""Lane 0 adds up all 32 elements from global memory, where each other lane read its own, too.

Rejected at: traffic
"""

from numba import cuda, float32

THREADS = 64
EVERY_LANE = 0xFFFFFFFF


@cuda.jit
def warp_sums_kernel(a, out):
    i = cuda.grid(1)
    lane = cuda.laneid
    value = float32(0.0)
    if i < a.size:
        value = a[i]
    if lane == 0 and i < a.size:
        for other in range(i + 1, min(i + 32, a.size)):
            value += a[other]
    if lane == 0 and i < a.size:
        out[i // 32] = value


def warp_sums(a, out):
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
