"""One block goes on by its threads; each adds 1 too many."""
# sum 40 block_index

from numba import cuda

THREADS = 8


@cuda.jit
def clear(out):
    out[0] = 0.0


@cuda.jit
def kernel(x, out):
    total = 0.0
    for i in range(cuda.grid(1), x.size, THREADS):
        total += x[i]
    cuda.atomic.add(out, 0, total + 1.0)


def run(x, out):
    clear[1, 1](out)
    kernel[1, THREADS](x, out)
