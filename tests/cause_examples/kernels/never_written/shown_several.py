"""Returns before a condition: either may keep the threads from the store."""
# copy 13
# says (out[i] = x[i]) never ran in any thread. Lines 11 and 13 decide whether it does.

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i >= 0:  # here
        return
    if i < x.size:
        out[i] = x[i]


def run(x, out):
    kernel[1, 16](x, out)
