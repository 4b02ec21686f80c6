from numba import cuda


@cuda.jit
def double_kernel(a, out):
    i = cuda.grid(1)
    if i > len(a):
        return
    out[i] = a[i] * 2


def double(a, out):
    double_kernel[1, 64](a, out)
