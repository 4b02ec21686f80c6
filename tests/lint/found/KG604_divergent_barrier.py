"""Barriers that only some threads reach."""

from numba import cuda, float32


@cuda.jit(device=True)
def block_sum(value):
    shared = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    shared[t] = value
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
            cuda.syncthreads()  # KG604
        half //= 2
    return shared[0]


@cuda.jit
def total(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0] = block_sum(x[i])  # KG604


@cuda.jit
def leaves_early(x, out):
    shared = cuda.shared.array(256, float32)
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= x.size:
        return
    shared[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()  # KG604
    out[i] = shared[255 - cuda.threadIdx.x]


@cuda.jit
def loops(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = x[i]
        cuda.syncthreads()  # KG604


def run(x, out):
    total[1, 256](x, out)
    leaves_early[1, 256](x, out)
    loops[1, 256](x, out)
