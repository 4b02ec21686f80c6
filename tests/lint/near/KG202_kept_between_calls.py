"""Tables that are filled when the file is loaded, and lists of one call."""

from numba import cuda

WARPS = {}
for width in (1024, 4096):
    WARPS[width] = width // 512
GRIDS = []
GRIDS.append(4)


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out, cache=None):
    parts = []
    parts.append(x)
    [parts.append(one) for one in (x, out)]
    kept = {"calls": 0}
    kept["calls"] += 1
    lengths = [len(part) for part in parts]
    lengths[0] = WARPS[1024]
    double[GRIDS[0], lengths[0]](x, out)
