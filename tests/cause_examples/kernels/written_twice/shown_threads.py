"""The last threads store where others have stored, and leave the end without a value."""
# copy 12

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.threadIdx.x
    m = x.size - 4
    if i < m:
        out[i] = x[i]
    cuda.syncthreads()
    if i >= m:
        out[i - 4] = x[i]  # here


def run(x, out):
    kernel[1, 12](x, out)
