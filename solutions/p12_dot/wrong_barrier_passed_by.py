"""Waits inside the if, and nowhere else: the threads that add no more go past it, to the end.

Rejected at: correctness
On a GPU: may pass by luck. Which barrier a thread waits at is not looked at there.
"""

from numba import cuda, float32

THREADS = 64


@cuda.jit
def dot_kernel(a, b, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = 0
    if t < a.size:
        shared[t] = a[t] * b[t]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
            cuda.syncthreads()
        half //= 2
    if t == 0:
        out[0] = shared[0]


def dot(a, b, out):
    dot_kernel[1, THREADS](a, b, out)
