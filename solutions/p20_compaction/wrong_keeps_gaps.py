"""Each kept value stays where it was, with zeros in between.

Rejected at: correctness
"""

from numba import cuda, float32

THREADS = 64


@cuda.jit
def keep_positive_kernel(a, out):
    counts = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    value = float32(0.0)
    if t < a.size:
        value = a[t]
    if t < out.size:
        out[t] = max(value, float32(0.0))


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
