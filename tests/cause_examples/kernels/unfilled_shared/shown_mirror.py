"""Reads one place beyond what was filled."""
# copy 13 unwritten_read
# says fills shared[t] only where line
# says reads shared[x.size - t]: does its index lead beyond that

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t < x.size:
        shared[t] = x[t]
    cuda.syncthreads()
    if t < x.size:
        out[t] = shared[x.size - t]


def run(x, out):
    kernel[1, 16](x, out)
