"""Files that a kernel's source takes in from elsewhere."""

import functools

from cuda.core import Device, LaunchConfig, Program, launch

SOURCE = r"""
#include <cuda_bf16.h>
#include "/etc/passwd"  // # KG407
#  include <../../solutions/kernel.cu>  // # KG407
#if __has_include("../spec.py")  // # KG407
#endif
extern "C" __global__ void twice(const float* x, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
"""
MORE = '#include "cuda/../../../spec.py"\n' + SOURCE  # KG407


@functools.cache
def compiled():
    return Program(MORE, "c++").compile("cubin").get_kernel("twice")


def twice(x, out):
    config = LaunchConfig(grid=-(-x.numel() // 256), block=256)
    stream = Device().default_stream
    launch(stream, config, compiled(), x.data_ptr(), out.data_ptr(), x.numel())
