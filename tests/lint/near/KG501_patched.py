"""Settings that are there to be set, attributes of one's own, and a parameter of a known name."""

import torch
from numba import cuda

torch.backends.cuda.matmul.allow_tf32 = False


class Plan:
    def __init__(self) -> None:
        self.modules = 1


plan = Plan()
plan.modules = 2


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    """torch.allclose = print is a text here."""
    mine = Plan()
    mine.modules = plan.modules
    setattr(mine, "modules", 3)
    double[mine.modules, 32](x, out)
