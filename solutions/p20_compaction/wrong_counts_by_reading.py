"""Each thread reads all elements before its own to count those that are kept.

Rejected at: traffic
"""

from numba import cuda

THREADS = 64


@cuda.jit
def keep_positive_kernel(a, out):
    t = cuda.threadIdx.x
    place = 0
    kept = 0
    for i in range(a.size):
        if a[i] > 0:
            kept += 1
            if i < t:
                place += 1
    if t < a.size and a[t] > 0:
        out[place] = a[t]
    if kept <= t and t < out.size:
        out[t] = 0.0


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
