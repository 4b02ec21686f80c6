"""Does not wait until the other threads have written what it reads.

Rejected at: correctness
On a GPU: may pass by luck. The threads of one warp are mostly in step, and warps start in order.
"""

from numba import cuda, float32

THREADS = 128
WINDOW = 4


@cuda.jit
def pool_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = a[t]
    largest = shared[t]
    for back in range(1, WINDOW):
        if t - back >= 0:
            largest = max(largest, shared[t - back])
    out[t] = largest


def pool(a, out):
    pool_kernel[1, a.size](a, out)
