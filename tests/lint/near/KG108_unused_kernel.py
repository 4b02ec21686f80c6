"""A helper of a kernel, and a kernel that is launched by another name."""

from numba import cuda


@cuda.jit(device=True)
def twice(value):
    return 2 * value


@cuda.jit
def by_helper(x, out):
    out[0] = twice(x[0])


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    chosen = double if len(x) > 1 else by_helper
    chosen[1, 32](x, out)
