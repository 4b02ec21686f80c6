from numba import cuda, float32

THREADS = 32


@cuda.jit
def row_sums_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    r = cuda.blockIdx.x
    shared[t] = 0
    if t < a.shape[1]:
        shared[t] = a[r, t]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[r] = shared[0]


def row_sums(a, out):
    row_sums_kernel[a.shape[0], THREADS](a, out)
