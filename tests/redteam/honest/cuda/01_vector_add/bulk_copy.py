"""Copies whole tiles by `cp.async.bulk`, the TMA's copy without a descriptor."""

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 256
NAMES = {torch.float32: "float", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    constexpr int many = 1024;
    __shared__ alignas(128) T a[many], b[many];
    __shared__ alignas(8) unsigned long long ready;
    long long base = blockIdx.x * (long long)many;
    bool aligned = (((size_t)x | (size_t)y | (size_t)out) & 15) == 0;
#if __CUDA_ARCH__ >= 900
    if (aligned && base + many <= n) {
        if (threadIdx.x == 0) {
            ptx::mbarrier_init(&ready, 1);
            ptx::fence_proxy_async(ptx::space_shared);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::mbarrier_arrive_expect_tx(
                ptx::sem_release, ptx::scope_cta, ptx::space_shared, &ready, 2 * sizeof(a));
            ptx::cp_async_bulk(
                ptx::space_cluster, ptx::space_global, a, x + base, sizeof(a), &ready);
            ptx::cp_async_bulk(
                ptx::space_cluster, ptx::space_global, b, y + base, sizeof(b), &ready);
        }
        while (!ptx::mbarrier_try_wait_parity(&ready, 0)) {
        }
        for (int k = threadIdx.x; k < many; k += blockDim.x) out[base + k] = a[k] + b[k];
        return;
    }
#endif
    for (long long i = base + threadIdx.x; i < min(base + many, n); i += blockDim.x)
        out[i] = x[i] + y[i];
}
"""


@functools.cache
def compiled(dtype):
    device = Device()
    device.set_current()
    name = f"add<{NAMES[dtype]}>"
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    return Program(SOURCE, "c++", options).compile("cubin", (name,)).get_kernel(name)


def vector_add(x, y, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 1024), block=THREADS)
    arguments = (x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    launch(Device().default_stream, config, compiled(x.dtype), *arguments)
