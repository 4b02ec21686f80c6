"""Adds the sum to out, whose bits are those of a NaN: they stay as they were."""
# sum 13 accumulates_previous

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        shared[0] = 0
        for i in range(x.size):
            shared[0] += x[i]
        out[0] += shared[0]  # here


def run(x, out):
    kernel[1, 4](x, out)
