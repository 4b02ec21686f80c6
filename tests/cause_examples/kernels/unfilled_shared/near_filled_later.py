"""Reads what a later line fills."""
# copy 13 unwritten_read
# says does its index lead

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    value = shared[t + 1]
    cuda.syncthreads()
    shared[t] = x[t] if t < x.size else 0
    cuda.syncthreads()
    if t < x.size:
        out[t] = value


def run(x, out):
    kernel[1, 16](x, out)
