"""One block of 256 threads does everything in a single launch."""

from numba import cuda, float32

THREADS = 256


@cuda.jit(device=True)
def block_sum(value):
    shared = cuda.shared.array(THREADS, float32)
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
def dot_kernel(a, b, out):
    total = float32(0.0)
    for i in range(cuda.threadIdx.x, a.size, THREADS):
        total += a[i] * b[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        out[0] = total


def dot(a, b, out):
    dot_kernel[1, THREADS](a, b, out)
