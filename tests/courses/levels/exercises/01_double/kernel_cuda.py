"""Doubles a vector: one element for each thread."""

import functools

from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 256

SOURCE = r"""
extern "C" __global__ void twice(const float* x, float* out, long long n) {
    // TODO: double this thread's element, if there is one
}
"""


@functools.cache
def compiled():
    device = Device()
    device.set_current()
    program = Program(SOURCE, "c++", ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
    return program.compile("cubin").get_kernel("twice")


def double(x, out):
    raise NotImplementedError(
        "01_double: write the part of SOURCE that is missing, and delete this line"
    )
    n = x.numel()
    config = LaunchConfig(grid=-(-n // THREADS), block=THREADS)
    launch(Device().default_stream, config, compiled(), x.data_ptr(), out.data_ptr(), n)
