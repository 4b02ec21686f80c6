"""Names of the same look."""

from numba import cuda

environ = {"warps": 4}


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def getenv(name):
    return environ[name]


def run(x, out, argv=()):
    """Reads no os.environ."""
    double[getenv("warps"), 32](x, out)
