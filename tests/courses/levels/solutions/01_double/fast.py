"""Doubles a vector with accesses of 16 bytes, and the odd elements one by one."""

import functools

from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 512

SOURCE = r"""
extern "C" __global__ void four_at_once(const float* x, float* out, long long n) {
    long long four = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    bool aligned = ((long long)x | (long long)out) % 16 == 0;
    if (aligned && 4 * four + 3 < n) {
        float4 value = reinterpret_cast<const float4*>(x)[four];
        reinterpret_cast<float4*>(out)[four] =
            make_float4(2 * value.x, 2 * value.y, 2 * value.z, 2 * value.w);
    } else {
        for (long long i = 4 * four; i < n && i < 4 * four + 4; i++) out[i] = 2 * x[i];
    }
}
"""


@functools.cache
def compiled():
    device = Device()
    device.set_current()
    program = Program(SOURCE, "c++", ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
    return program.compile("cubin").get_kernel("four_at_once")


def double(x, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // (4 * THREADS)), block=THREADS)
    launch(Device().default_stream, config, compiled(), x.data_ptr(), out.data_ptr(), n)
