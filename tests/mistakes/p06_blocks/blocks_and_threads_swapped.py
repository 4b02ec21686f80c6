from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    i = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] + i


def blocks_for(elements):
    return (elements + THREADS - 1) // THREADS


def add_place(a, out):
    add_place_kernel[THREADS, blocks_for(a.size)](a, out)
