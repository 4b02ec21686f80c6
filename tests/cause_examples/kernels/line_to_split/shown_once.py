"""Adds the element to the left in one line."""
# copy 16 race
# says reads shared[t - 1], which another thread changes in the same line.
# says at a barrier, outside of the `if` of line 15. Then store.

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(16, float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    if t > 0:
        shared[t] += shared[t - 1]  # here
    cuda.syncthreads()
    out[t] = shared[t]


def run(x, out):
    kernel[1, 16](x, out)
