"""Sums in float64 from the products on, rounded to float32 once at the end."""

from numba import cuda, float32, float64

THREADS = 128
MOST_BLOCKS = 2048
rooms = {}


@cuda.jit(device=True)
def block_sum(value):
    shared = cuda.shared.array(THREADS, float64)
    t = cuda.threadIdx.x
    shared[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    return shared[0]


@cuda.jit
def dot_partials(a, b, partials):
    total = float64(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += float64(a[i]) * float64(b[i])
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total


@cuda.jit
def sum_partials(partials, out):
    total = float64(0.0)
    for i in range(cuda.threadIdx.x, partials.size, THREADS):
        total += partials[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        out[0] = float32(total)


def dot(a, b, out):
    blocks = min(MOST_BLOCKS, (a.size + 4 * THREADS - 1) // (4 * THREADS))
    if blocks not in rooms:
        rooms[blocks] = cuda.device_array(blocks, "float64")
    dot_partials[blocks, THREADS](a, b, rooms[blocks])
    sum_partials[1, THREADS](rooms[blocks], out)
