"""Adds elements further and further left, with a barrier in each turn."""
# copy 16 race
# says reads shared[t - by], which another

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(16, float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    by = 1
    while by < 16:
        if t >= by:
            shared[t] = shared[t] + shared[t - by]  # here
        cuda.syncthreads()
        by *= 2
    out[t] = shared[t]


def run(x, out):
    kernel[1, 16](x, out)
