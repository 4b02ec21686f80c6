"""Checks an index before a loop that changes it."""
# copy 40 missing_mask
# says checks i once, before the loop.
# says (i += 16) changes it in each turn: check it there, inside the loop.

from numba import cuda


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    i = t
    if i < x.size:
        for _ in range(3):
            out[i] = x[i]
            i += 16


def run(x, out):
    kernel[1, 16](x, out)
