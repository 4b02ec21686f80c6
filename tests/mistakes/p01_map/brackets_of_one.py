from numba import cuda


@cuda.jit
def add_ten_kernel(a, out):
    tid = cuda.threadIdx.x
    out[tid] = a[tid] + 10


def add_ten(a, out):
    add_ten_kernel[a.size](a, out)
