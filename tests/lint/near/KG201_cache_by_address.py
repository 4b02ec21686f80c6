"""An address that is only asked whether it is aligned; a table that the call makes and drops."""

import torch
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


WARPS = {True: 8, False: 4}


def run(x: torch.Tensor, out: torch.Tensor) -> None:
    aligned = x.data_ptr() % 16 == 0
    assert WARPS[aligned]
    sizes = {"data_ptr": 1}
    sizes[aligned] = 2
    mine = {}
    mine[x.data_ptr()] = out
    double[sizes[aligned], 32](mine[x.data_ptr()], out)


def identity(id, table):
    """`id` is a parameter here."""
    return table[id(0)]
