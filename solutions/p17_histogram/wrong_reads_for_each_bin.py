"""One thread for each counter looks at all that its block has: data is read ten times.

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
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * THREADS
    if t < BINS:
        count = 0.0
        for i in range(first, min(first + THREADS, data.size)):
            if data[i] == t:
                count += 1.0
        cuda.atomic.add(out, t, count)


def histogram(data, out):
    clear_kernel[1, BINS](out)
    blocks = (data.size + THREADS - 1) // THREADS
    histogram_kernel[blocks, THREADS](data, out)
