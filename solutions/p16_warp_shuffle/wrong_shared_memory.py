"""The tree of puzzle 12 in shared memory: right, but with no shuffle.

Rejected at: counts
"""

from numba import cuda, float32

THREADS = 64
EVERY_LANE = 0xFFFFFFFF


@cuda.jit
def warp_sums_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    shared[t] = float32(0.0)
    if i < a.size:
        shared[t] = a[i]
    cuda.syncthreads()
    by = 16
    while by > 0:
        if t % 32 < by:
            shared[t] += shared[t + by]
        cuda.syncthreads()
        by //= 2
    if t % 32 == 0 and i < a.size:
        out[i // 32] = shared[t]


def warp_sums(a, out):
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
