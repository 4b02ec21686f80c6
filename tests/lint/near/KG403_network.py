"""An address in a comment is no request."""

from numba import cuda

# http://example.org explains the reduction; requests go there.
SOCKET = "socket.create_connection"


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    requests = [len(SOCKET)]
    double[requests[0], 32](x, out)
