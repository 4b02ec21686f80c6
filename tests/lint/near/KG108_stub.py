"""A stub, with a helper that the learner is to call."""

from numba import cuda


@cuda.jit(device=True)
def twice(value):
    return 2 * value


@cuda.jit
def double(x, out):
    # TODO: call the helper
    pass


def run(x, out):
    raise NotImplementedError("write the kernel above, then delete this line")
    double[1, 32](x, out)
