"""A method and a regular expression that compile."""

import re

from numba import cuda

PATTERN = re.compile("torch.compile")


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


class Plan:
    def compile(self) -> int:
        return 1


def run(x, out):
    double[Plan().compile(), 32](x, out)
