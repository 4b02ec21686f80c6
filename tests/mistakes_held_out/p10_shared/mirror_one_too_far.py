import math

from numba import cuda, float32

THREADS = 8


@cuda.jit
def mirror_kernel(a, out):
    buf = cuda.shared.array(THREADS, float32)
    tid = cuda.threadIdx.x
    start = cuda.blockIdx.x * THREADS
    count = min(THREADS, a.size - start)
    if tid < count:
        buf[tid] = a[start + tid]
    cuda.syncthreads()
    if tid < count:
        out[start + tid] = buf[tid] - buf[count - tid]


def mirror(a, out):
    mirror_kernel[math.ceil(a.size / THREADS), THREADS](a, out)
