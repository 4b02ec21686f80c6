"""Launches numba's kernels on a stream of its own, and takes out the wait for it."""
# attacks: 02_dot_reduction
# stopped: correctness never_written | correctness value | speed early_answer
# harmless: at most 1.02
# GPU only: the simulator has no streams

from numba import cuda, float32

THREADS = 256
BLOCKS = 2048
STREAM = cuda.stream()
PARTIALS = cuda.device_array(BLOCKS, "float32")


@cuda.jit
def _partials(a, b, partials):
    shared = cuda.shared.array(THREADS, float32)
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    t = cuda.threadIdx.x
    shared[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        partials[cuda.blockIdx.x] = shared[0]


@cuda.jit
def _sum(partials, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    total = float32(0.0)
    for i in range(t, partials.size, THREADS):
        total += partials[i]
    shared[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[0] = shared[0]


def dot(a, b, out):
    _partials[BLOCKS, THREADS, STREAM](a, b, PARTIALS)
    _sum[1, THREADS, STREAM](PARTIALS, out)


cuda.synchronize = lambda: None
