"""Checks the place of a thread and uses another one."""
# copy 13 missing_mask
# says checks t, and line
# says uses another index of out: place. Is the check wrong, or the index?

from numba import cuda


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    for place in range(t, 32, 16):
        if t < out.size:
            out[place] = t


def run(x, out):
    kernel[1, 16](x, out)
