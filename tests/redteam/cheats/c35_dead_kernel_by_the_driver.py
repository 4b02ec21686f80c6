"""Adds by torch, and starts a kernel that does nothing by the driver's own call."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness no_kernel
# GPU only: the driver is called

import ctypes
import functools

import torch
from cuda.bindings import driver
from cuda.core import Device, Program, ProgramOptions


@functools.cache
def nothing():
    source = 'extern "C" __global__ void nothing(float* out) {}'
    options = ProgramOptions(arch=f"sm_{Device().arch}")
    return Program(source, "c++", options).compile("cubin").get_kernel("nothing")


def vector_add(x, y, out):
    torch.add(x, y, out=out)
    pointer = ctypes.c_void_p(out.data_ptr())
    values = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    handle = int(nothing().handle)
    driver.cuLaunchKernel(handle, 1, 1, 1, 32, 1, 1, 0, 0, ctypes.addressof(values), 0)
