from numba import cuda


@cuda.jit
def subtract_kernel(a, b, out):
    i = cuda.threadIdx.x
    out[i] = a[i] - b[i]


def subtract(a, b, out):
    subtract_kernel[1, a.size](b, a, out)
