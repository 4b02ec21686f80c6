"""Names that hold `asm`, text of a file without C++, and a comment."""

import functools

from cuda.core import Device, LaunchConfig, Program, launch

SOURCE = r"""
#include <cuda/ptx>
// once asm("mov.u32 %0, %%laneid;")
__device__ unsigned plasma(unsigned value) { return value; }

extern "C" __global__ void lanes(float* out) {
    out[threadIdx.x] = plasma(cuda::ptx::get_sreg_laneid());
}
"""


@functools.cache
def compiled():
    return Program(SOURCE, "c++").compile("cubin").get_kernel("lanes")


def lanes(out):
    launch(Device().default_stream, LaunchConfig(grid=1, block=32), compiled(), out.data_ptr())
