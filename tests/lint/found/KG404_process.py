"""Processes."""

import os
import signal
import subprocess
import sys

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    subprocess.run(["true"])  # KG404
    os.kill(os.getpid(), signal.SIGSTOP)  # KG404
    if os.fork() == 0:  # KG404
        os._exit(0)  # KG404
    sys.exit(0)  # KG404
    double[1, 32](x, out)
