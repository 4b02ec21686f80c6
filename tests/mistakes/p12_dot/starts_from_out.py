from numba import cuda, float32

THREADS = 64


@cuda.jit
def dot_kernel(a, b, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = a[t] * b[t] if t < a.size else 0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])


def dot(a, b, out):
    dot_kernel[1, THREADS](a, b, out)
