"""Each kept value stays where it was, with zeros in between.

Rejected at: correctness
"""

from numba import cuda, float32

THREADS = 64


@cuda.jit
def keep_positive_kernel(a, out):
    t = cuda.threadIdx.x
    if t < a.size:
        out[t] = max(a[t], float32(0.0))


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
