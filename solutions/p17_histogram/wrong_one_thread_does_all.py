"""One thread counts all elements in counters of its own, so that nothing need be atomic.

Rejected at: counts
"""

from numba import cuda, float32

BINS = 10


@cuda.jit
def histogram_kernel(data, out):
    counts = cuda.local.array(BINS, float32)
    for b in range(BINS):
        counts[b] = 0.0
    for i in range(data.size):
        counts[data[i]] += 1.0
    for b in range(BINS):
        out[b] = counts[b]


def histogram(data, out):
    histogram_kernel[1, 1](data, out)
