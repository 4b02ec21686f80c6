"""Adds one element for each thread of the only block."""
# sum 13 loop_missing
# says only the first 8 elements are in it. Should a loop go on to further elements?

from numba import cuda, float32


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    shared = cuda.shared.array(8, float32)
    shared[t] = 0
    if t < x.size:
        shared[t] = x[t]
    cuda.syncthreads()
    if t == 0:
        total = float32(0.0)
        for i in range(8):
            total += shared[i]
        out[0] = total


def run(x, out):
    kernel[1, 8](x, out)
