"""Reads in one line what another line stores."""
# copy 16 race
# says Split the line

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(16, float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    value = shared[15 - t]
    shared[t] = value
    cuda.syncthreads()
    out[t] = shared[t]


def run(x, out):
    kernel[1, 16](x, out)
