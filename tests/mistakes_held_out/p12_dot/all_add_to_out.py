from numba import cuda

THREADS = 64


@cuda.jit
def dot_kernel(a, b, out):
    t = cuda.threadIdx.x
    if t == 0:
        out[0] = 0
    cuda.syncthreads()
    if t < a.size:
        out[0] += a[t] * b[t]


def dot(a, b, out):
    dot_kernel[1, THREADS](a, b, out)
