"""Does not wait between two steps of the tree: a thread adds what is not summed up yet.

Rejected at: correctness
On a GPU: may pass by luck. From half = 32 on, all that add are in one warp, and mostly in step.
"""

from numba import cuda, float32

THREADS = 64


@cuda.jit
def dot_kernel(a, b, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    if t < a.size:
        shared[t] = a[t] * b[t]
    else:
        shared[t] = 0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        half //= 2
    if t == 0:
        out[0] = shared[0]


def dot(a, b, out):
    dot_kernel[1, THREADS](a, b, out)
