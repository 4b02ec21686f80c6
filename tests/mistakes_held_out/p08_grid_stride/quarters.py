from numba import cuda

BLOCKS, THREADS = 2, 16


@cuda.jit
def halve_kernel(a, out):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, a.shape[0], stride):
        out[i] = a[i] * 0.5 / 2


def halve(a, out):
    halve_kernel[BLOCKS, THREADS](a, out)
