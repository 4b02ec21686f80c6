"""Instructions in a kernel's source."""

import functools

from cuda.core import Device, LaunchConfig, Program, launch

SOURCE = r"""
__device__ unsigned lane() {
    unsigned value;
    asm("mov.u32 %0, %%laneid;" : "=r"(value));  // # KG408
    asm volatile ("membar.gl;");  // # KG408
    return value;
}

extern "C" __global__ void lanes(float* out) { out[threadIdx.x] = lane(); }
"""


@functools.cache
def compiled():
    return Program(SOURCE, "c++").compile("cubin").get_kernel("lanes")


def lanes(out):
    launch(Device().default_stream, LaunchConfig(grid=1, block=32), compiled(), out.data_ptr())


def beside(out):
    other = Device().create_stream()  # KG301
    launch(other, LaunchConfig(grid=1, block=32), compiled(), out.data_ptr())
