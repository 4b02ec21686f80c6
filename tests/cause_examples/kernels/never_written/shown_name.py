"""Gives the name to something else."""
# copy 13
# says No thread writes to out. `out[i] = …` writes an element

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out = x[i]  # noqa: F841


def run(x, out):
    kernel[1, 16](x, out)
