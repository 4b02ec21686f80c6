"""Code that nobody sees."""

import base64
import importlib

from numba import cuda

exec("x = 1")  # KG502
hidden = base64.b64decode(b"eA==")  # KG502
module = importlib.import_module("math")  # KG502
run_it = eval


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    run_it("double[1, 32](x, out)")  # KG502
    double[1, 32](x, bytes.fromhex("00"))  # KG502
