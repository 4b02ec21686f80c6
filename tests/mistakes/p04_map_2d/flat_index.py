from numba import cuda

THREADS = (16, 8)


@cuda.jit
def add_ten_2d_kernel(a, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    rows, columns = a.shape
    if row < rows and column < columns:
        place = row * rows + column
        r = place // columns
        c = place % columns
        if r < rows:
            out[r, c] = a[r, c] + 10


def add_ten_2d(a, out):
    add_ten_2d_kernel[1, THREADS](a, out)
