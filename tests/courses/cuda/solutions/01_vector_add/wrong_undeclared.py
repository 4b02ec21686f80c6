"""Uses an index that it has not declared.

Rejected at: correctness
"""

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = """
extern "C" __global__ void add(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[j];
}
"""


def vector_add(x, y, out):
    device = Device()
    device.set_current()
    program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}"))
    kernel = program.compile("cubin").get_kernel("add")
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 128), block=128)
    arguments = (x.data_ptr(), y.data_ptr(), out.data_ptr(), np.int32(n))
    launch(device.default_stream, config, kernel, *arguments)
