from numba import cuda

THREADS = (8, 16)


@cuda.jit
def add_ten_2d_kernel(a, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = a[row, column] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
