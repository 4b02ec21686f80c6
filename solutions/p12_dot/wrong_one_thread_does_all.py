"""One thread adds all the products in a variable of its own: no tree, and nothing shared.

Rejected at: counts
"""

from numba import cuda, float32

THREADS = 64


@cuda.jit
def dot_kernel(a, b, out):
    if cuda.threadIdx.x == 0:
        total = float32(0.0)
        for i in range(a.size):
            total += a[i] * b[i]
        out[0] = total


def dot(a, b, out):
    dot_kernel[1, THREADS](a, b, out)
