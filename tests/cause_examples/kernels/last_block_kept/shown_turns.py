"""Gives the sum a new value in each turn."""
# sum 13
# says so that the last turn alone counts after the loop

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    if t == 0:
        total = float32(0.0)
        for i in range(x.size):
            total = x[i]  # here
        out[0] = total


def run(x, out):
    kernel[1, 4](x, out)
