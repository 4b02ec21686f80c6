from numba import cuda, float32

THREADS = 64
BINS = 10


@cuda.jit
def clear_kernel(out):
    out[cuda.threadIdx.x] = 0.0


@cuda.jit
def histogram_kernel(data, out):
    bins = cuda.shared.array(BINS, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid < BINS:
        bins[tid] = 0
    cuda.syncthreads()
    if i < data.size:
        cuda.atomic.add(bins, data[i], 1)
    cuda.syncthreads()
    if tid < BINS:
        out[tid] = out[tid] + bins[tid]


def histogram(data, out):
    clear_kernel[1, BINS](out)
    blocks = (data.size + THREADS - 1) // THREADS
    histogram_kernel[blocks, THREADS](data, out)
