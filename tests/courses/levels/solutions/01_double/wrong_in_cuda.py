"""Doubles all but the last element, in CUDA C++.

Rejected at: correctness
"""

from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
extern "C" __global__ void twice(const float* x, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n - 1) out[i] = 2 * x[i];
}
"""


def double(x, out):
    device = Device()
    device.set_current()
    program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}"))
    kernel = program.compile("cubin").get_kernel("twice")
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 128), block=128)
    launch(device.default_stream, config, kernel, x.data_ptr(), out.data_ptr(), n)
