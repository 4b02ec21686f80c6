"""Lets the columns run to the number of rows."""
# table 7x3 transposed
# says lets column run to x.shape[0], and line
# says uses it as the second index of x: is the index the wrong one, or the length?

from numba import cuda


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    for column in range(t, x.shape[0], 16):
        out[row, column] = x[row, column]


def run(x, out):
    kernel[x.shape[0], 16](x, out)
