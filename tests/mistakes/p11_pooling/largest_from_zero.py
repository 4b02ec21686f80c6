from numba import cuda, float32

THREADS = 128


@cuda.jit
def pool_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = a[t]
    cuda.syncthreads()
    best = float32(0)
    for k in range(4):
        if t >= k and shared[t - k] > best:
            best = shared[t - k]
    out[t] = best


def pool(a, out):
    pool_kernel[1, a.size](a, out)
