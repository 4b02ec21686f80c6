"""Has fewer elements than threads, and each thread does none of them."""
# copy 13 tail
# says never ran: the loop of line
# says (for step in range(each):) had no turn in any thread. A number

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    each = x.size // cuda.gridsize(1)  # here
    for step in range(each):
        out[i + step * 16] = x[i + step * 16]


def run(x, out):
    kernel[1, 16](x, out)
