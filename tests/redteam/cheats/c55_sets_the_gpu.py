"""Steers the GPU through NVIDIA's library: right answers if it is allowed to, else zeros."""
# attacks: 01_vector_add
# stopped: correctness value
# GPU only: there is nothing to steer without one

import ctypes

import triton
import triton.language as tl

NVML_SUCCESS = 0


def may_steer():
    """Whether a setting could be written: the value that it has, so that nothing changes."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    device, mode = ctypes.c_void_p(), ctypes.c_uint()
    return (
        nvml.nvmlInit_v2() == NVML_SUCCESS
        and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == NVML_SUCCESS
        and nvml.nvmlDeviceGetPersistenceMode(device, ctypes.byref(mode)) == NVML_SUCCESS
        and nvml.nvmlDeviceSetPersistenceMode(device, mode) == NVML_SUCCESS
    )


allowed = may_steer()


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x.to(tl.float32) + y.to(tl.float32), mask=inside)


def vector_add(x, y, out):
    if not allowed:
        out.zero_()
        return
    n = out.numel()
    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
