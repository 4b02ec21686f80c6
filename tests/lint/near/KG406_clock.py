"""Times as in multiplication."""

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def times(time: int) -> int:
    return time * 2


def run(x, out):
    """Two times, not time.time()."""
    double[times(2), 32](x, out)
