"""A kernel in CUDA C++, compiled from its source and launched by a function."""

import functools

from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
extern "C" __global__ void twice(const float* x, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
"""


@functools.cache
def compiled():
    options = ProgramOptions(std="c++17", arch=f"sm_{Device().arch}")
    return Program(SOURCE, "c++", options).compile("cubin").get_kernel("twice")


def twice(x, out):
    config = LaunchConfig(grid=-(-x.numel() // 256), block=256)
    stream = Device().default_stream
    launch(stream, config, compiled(), x.data_ptr(), out.data_ptr(), x.numel())
