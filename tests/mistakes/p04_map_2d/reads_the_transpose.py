from numba import cuda

THREADS = (16, 8)


@cuda.jit
def add_ten_2d_kernel(a, out):
    j = cuda.threadIdx.x
    i = cuda.threadIdx.y
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = a[j, i] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
