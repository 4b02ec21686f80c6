"""Reads a halo that no thread fills."""
# copy 13 unwritten_read
# says (shared[t] = 1) fills shared[t]. Line
# says reads shared[t + 9]: does

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    shared[t] = 1
    cuda.syncthreads()
    if t < x.size:
        out[t] = shared[t + 9]


def run(x, out):
    kernel[1, 16](x, out)
