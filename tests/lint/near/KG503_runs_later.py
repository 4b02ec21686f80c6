"""A name that ends alike."""

from numba import cuda


class Room:
    def __delitem__(self, key: int) -> None:
        """Not __del__, and not atexit."""


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out, atexit=1):
    del Room()[0]
    double[atexit, 32](x, out)
