from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    idx = cuda.threadIdx.x
    if idx < a.size:
        out[idx] = a[idx] + idx


def blocks_for(elements):
    return -(-elements // THREADS)


def add_place(a, out):
    add_place_kernel[blocks_for(a.size), THREADS](a, out)
