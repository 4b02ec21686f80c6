"""Fills the places of some threads, and reads those of all."""
# copy 13 unwritten_read
# says does its index lead

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t > 3 and t < x.size:
        shared[t] = x[t]
    cuda.syncthreads()
    if t < x.size:
        out[t] = shared[t]


def run(x, out):
    kernel[1, 16](x, out)
