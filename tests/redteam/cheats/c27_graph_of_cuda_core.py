"""Replays its kernel as a graph of cuda.core, which nothing could switch off."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness launch_refused | correctness no_kernel

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
"""


@functools.cache
def compiled(dtype):
    name = f"add<{'float' if dtype == torch.float32 else '__nv_bfloat16'}>"
    program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{Device().arch}"))
    return program.compile("cubin", name_expressions=(name,)).get_kernel(name)


def vector_add(x, y, out):
    n = x.numel()
    device = Device()
    device.set_current()
    config = LaunchConfig(grid=-(-n // 256), block=256)
    kernel = compiled(x.dtype)
    stream = device.create_stream()
    builder = stream.create_graph_builder()
    builder.begin_building()
    launch(builder, config, kernel, x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    graph = builder.end_building().complete()
    graph.launch(stream)
    stream.sync()
