"""Answers from elsewhere."""

import socket
import urllib.request as web

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    socket.create_connection(("example.org", 80))  # KG403
    web.urlopen("http://example.org")  # KG403
    double[1, 32](x, out)
