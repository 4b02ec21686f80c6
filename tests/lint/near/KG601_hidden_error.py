"""A fallback for an import, an error that goes on, a clean-up, and `try` around something else."""

from numba import cuda

try:
    from numba import float32
except ImportError:
    float32 = None


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    try:
        double[1, 32](x, out)
    except ValueError as error:
        raise RuntimeError("try fewer threads") from error
    finally:
        print("done")


def size(x):
    """Words: try, except, pass."""
    try:
        return len(x)
    except TypeError:
        pass
    return 1
