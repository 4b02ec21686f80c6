"""One thread adds all the products, while the other 63 wait.

Rejected at: counts
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
    if t == 0:
        total = float32(0.0)
        for k in range(THREADS):
            total += shared[k]
        out[0] = total


def dot(a, b, out):
    dot_kernel[1, THREADS](a, b, out)
