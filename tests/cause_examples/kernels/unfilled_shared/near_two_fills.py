"""Fills by two lines and reads beyond both."""
# copy 13 unwritten_read
# says does its index lead

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t < x.size:
        shared[t] = x[t]
    if t == 0:
        shared[20] = 1
    cuda.syncthreads()
    if t < x.size:
        out[t] = shared[t + 9]


def run(x, out):
    kernel[1, 16](x, out)
