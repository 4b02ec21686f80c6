"""Things that run, exit and signal by name only."""

from numba import cuda


class Job:
    def run(self) -> int:
        return 1

    def exit(self) -> int:
        return 32


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def system(x):
    return x


def run(x, out, signal=1, subprocess=2):
    """No os.system, no sys.exit()."""
    double[Job().run(), Job().exit()](system(x), out)
