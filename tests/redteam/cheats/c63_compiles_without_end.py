"""Has the compiler make a type of each number of a tree that doubles forty times."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness timeout | correctness crash | correctness out_of_memory | correctness compile
#   (crash, out_of_memory, compile: where the compiler's memory ends first)

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

template <int depth, long long path>
struct Tree {
    static constexpr long long value =
        Tree<depth - 1, 2 * path>::value + Tree<depth - 1, 2 * path + 1>::value;
};
template <long long path>
struct Tree<0, path> {
    static constexpr long long value = path;
};

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    out[0] = x[Tree<40, 0>::value % n] + y[0];
}
"""


@functools.cache
def compiled(dtype):
    name = f"add<{'float' if dtype == torch.float32 else '__nv_bfloat16'}>"
    program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{Device().arch}"))
    return program.compile("cubin", name_expressions=(name,)).get_kernel(name)


def vector_add(x, y, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 256), block=256)
    pointers = (x.data_ptr(), y.data_ptr(), out.data_ptr())
    launch(Device().default_stream, config, compiled(x.dtype), *pointers, n)
