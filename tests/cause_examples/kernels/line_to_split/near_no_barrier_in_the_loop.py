"""A tree whose turns do not wait for each other."""
# copy 16 race
# says Split the line

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(16, float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    half = 8
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        half //= 2
    cuda.syncthreads()
    out[t] = shared[t]


def run(x, out):
    kernel[1, 16](x, out)
