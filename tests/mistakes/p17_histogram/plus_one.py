from numba import cuda, float32

THREADS = 64
BINS = 10


@cuda.jit
def clear_kernel(out):
    out[cuda.threadIdx.x] = 0.0


@cuda.jit
def histogram_kernel(data, out):
    counts = cuda.shared.array(BINS, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if t < BINS:
        counts[t] = 0
    cuda.syncthreads()
    if i < data.size:
        counts[data[i]] += 1
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(out, t, counts[t])


def histogram(data, out):
    clear_kernel[1, BINS](out)
    histogram_kernel[(data.size + THREADS - 1) // THREADS, THREADS](data, out)
