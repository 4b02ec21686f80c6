"""Every thread adds to out itself: right, but all blocks meet at ten elements.

Rejected at: traffic
"""

from numba import cuda

THREADS = 64
BINS = 10


@cuda.jit
def clear_kernel(out):
    out[cuda.threadIdx.x] = 0.0


@cuda.jit
def histogram_kernel(data, out):
    i = cuda.grid(1)
    if i < data.size:
        cuda.atomic.add(out, data[i], 1.0)


def histogram(data, out):
    clear_kernel[1, BINS](out)
    blocks = (data.size + THREADS - 1) // THREADS
    histogram_kernel[blocks, THREADS](data, out)
