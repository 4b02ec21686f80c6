"""Methods and functions called like Python's own."""

import re

from numba import cuda

EXEC = re.compile("exec|eval")


class Model:
    def eval(self) -> int:
        return 1


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def exec(text: str) -> str:
    """This file's own exec, which is no eval("1")."""
    return text


def run(x, out):
    exec("words")
    double[Model().eval(), 32](x, out)
