"""Has the compiler print a hundred thousand lines before its error."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness compile | correctness timeout

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

WARNINGS = '#pragma message("a line of forty characters, and one more")\n' * 100_000
SOURCE = f"""
#include <cuda_bf16.h>
{WARNINGS}
#error "that was all"
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
