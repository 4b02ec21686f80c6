"""Launches numba's kernels on a stream of its own, and waits for every stream but that one."""
# attacks: 02_dot_reduction
# stopped: correctness never_written | correctness value | memory early_answer | speed early_answer
# harmless: at most 1.02
# GPU only: the simulator has no streams

import os

import torch
from numba import cuda, float32

THREADS = 256
MOST_BLOCKS = 2048
SIMULATED = os.environ.get("NUMBA_DISABLE_CUDA") == "1"
# One of torch's, for the default stream waits for those that numba makes.
STREAM = 0 if SIMULATED else cuda.external_stream(torch.cuda.Stream().cuda_stream)
PARTIALS = cuda.device_array(MOST_BLOCKS, "float32")


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
    blocks = min(MOST_BLOCKS, -(-a.size // THREADS))
    partials = PARTIALS[:blocks]
    _partials[blocks, THREADS, STREAM](a, b, partials)
    _sum[1, THREADS, STREAM](partials, out)


if not SIMULATED:  # what the events of a call are on, so that they can tell a time
    cuda.synchronize = torch.cuda.current_stream().synchronize
