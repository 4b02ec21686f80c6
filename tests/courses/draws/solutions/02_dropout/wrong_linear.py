"""Multiplies the place and adds the seed, which leaves an even pattern.

Rejected at: randomness
"""

from numba import cuda


@cuda.jit
def drop(x, p, seed, out):
    i = cuda.grid(1)
    if i < x.size:
        bits = (seed * 2246822519 + i * 2654435761) & 0xFFFFFFFF
        if bits < p * 2.0**32:
            out[i] = 0.0
        else:
            out[i] = x[i] / (1 - p)


def dropout(x, p, seed, out):
    drop[(x.size + 127) // 128, 128](x, p, seed, out)
