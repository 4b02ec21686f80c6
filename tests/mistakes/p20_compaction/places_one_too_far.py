from numba import cuda, float32, int32

THREADS = 64


@cuda.jit(device=True)
def running_sums(counts):
    t = cuda.threadIdx.x
    by = 1
    while by < THREADS:
        cuda.syncthreads()
        before = 0
        if t >= by:
            before = counts[t - by]
        cuda.syncthreads()
        counts[t] += before
        by *= 2
    cuda.syncthreads()


@cuda.jit
def keep_positive_kernel(a, out):
    counts = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    value = float32(0.0)
    if t < a.size:
        value = a[t]
    counts[t] = 1 if value > 0 else 0
    running_sums(counts)
    kept = counts[THREADS - 1]
    if kept <= t and t < out.size:
        out[t] = 0.0
    cuda.syncthreads()
    if value > 0 and counts[t] < out.size:
        out[counts[t]] = value


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
