"""Copies tiles by the TMA with a descriptor for each vector."""
# GPU only: the driver makes descriptors

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
from cuda.core.utils import StridedMemoryView

THREADS = 256
NAMES = {torch.float32: "float", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

struct alignas(64) Map {
    unsigned long long words[16];
};

template <typename T>
__global__ void add(const __grid_constant__ Map x, const __grid_constant__ Map y, T* out,
                    long long n) {
    constexpr int many = 256;
    __shared__ alignas(128) T a[many], b[many];
    __shared__ alignas(8) unsigned long long ready;
    long long base = blockIdx.x * (long long)many;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&ready, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int at[1] = {int(base)};
        ptx::mbarrier_arrive_expect_tx(
            ptx::sem_release, ptx::scope_cta, ptx::space_shared, &ready, 2 * sizeof(a));
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, a, &x, at, &ready);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, b, &y, at, &ready);
    }
    while (!ptx::mbarrier_try_wait_parity(&ready, 0)) {
    }
    if (base + threadIdx.x < n) out[base + threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

template <typename T>
__global__ void plain(const T* x, const T* y, T* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
"""


@functools.cache
def compiled(kernel, dtype):
    device = Device()
    device.set_current()
    name = f"{kernel}<{NAMES[dtype]}>"
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    return Program(SOURCE, "c++", options).compile("cubin", (name,)).get_kernel(name)


def described(tensor):
    """Return the descriptor of a vector, whose 16-bit floats the TMA takes for numbers."""
    plain = tensor if tensor.dtype == torch.float32 else tensor.view(torch.uint16)
    return StridedMemoryView.from_any_interface(plain, stream_ptr=-1).as_tensor_map((THREADS,))


def vector_add(x, y, out):
    n = x.numel()
    stream = Device().default_stream
    config = LaunchConfig(grid=-(-n // THREADS), block=THREADS)
    if (x.data_ptr() | y.data_ptr()) % 16:  # where the TMA cannot begin
        pointers = (x.data_ptr(), y.data_ptr(), out.data_ptr())
        launch(stream, config, compiled("plain", x.dtype), *pointers, n)
        return
    maps = described(x), described(y)
    launch(stream, config, compiled("add", x.dtype), *maps, out.data_ptr(), n)
