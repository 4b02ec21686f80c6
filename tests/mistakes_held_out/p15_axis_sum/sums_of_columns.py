from numba import cuda, float32

THREADS = 32


@cuda.jit
def row_sums_kernel(a, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    total = float32(0.0)
    for column in range(t, a.shape[1], THREADS):
        total += a[column, row]
    shared[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[row] = shared[0]


def row_sums(a, out):
    row_sums_kernel[a.shape[0], THREADS](a, out)
