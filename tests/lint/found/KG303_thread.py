"""Code beside the call."""

import threading
from concurrent.futures import ThreadPoolExecutor

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    threading.Thread(target=run).start()  # KG303
    with ThreadPoolExecutor() as pool:  # KG303
        pool.submit(run, x, out)
    double[1, 32](x, out)
