from numba import cuda

THREADS = (16, 8)


@cuda.jit
def products_kernel(a, b, out):
    r = cuda.threadIdx.y
    c = cuda.threadIdx.x
    if r < out.shape[0] and c < out.shape[1]:
        out[r, c] = a[c] * b[r]


def products(a, b, out):
    products_kernel[1, THREADS](a, b, out)
