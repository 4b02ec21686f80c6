"""Takes the place within the block: each block has the same mask.

Rejected at: randomness
"""

from numba import cuda


@cuda.jit
def drop(x, p, seed, out):
    i = cuda.grid(1)
    if i < x.size:
        bits = (seed ^ (cuda.threadIdx.x * 2654435761)) & 0xFFFFFFFF
        for _ in range(3):
            bits = (bits ^ (bits >> 16)) * 0x45D9F3B & 0xFFFFFFFF
        if bits < p * 2.0**32:
            out[i] = 0.0
        else:
            out[i] = x[i] / (1 - p)


def dropout(x, p, seed, out):
    drop[(x.size + 127) // 128, 128](x, p, seed, out)
