"""Sets three quarters of the L2 cache aside for the data of its first call, which stay there."""
# attacks: 01_vector_add
# harmless: at most 1.02
# GPU only: there is no L2 cache without one

import ctypes

import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x.to(tl.float32) + y.to(tl.float32), mask=inside)


def vector_add(x, y, out):
    n = out.numel()
    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)


# cuda.h
CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 0x06
CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1
PERSISTING, STREAMING = 2, 1
LARGE = 1 << 22  # elements: the scored case, and no other
_honest, _windows = vector_add, []


class Window(ctypes.Structure):
    """CUaccessPolicyWindow, in the union of 64 bytes that CUlaunchAttributeValue is."""

    _fields_ = (
        ("base", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("ratio", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
        ("rest", ctypes.c_char * 36),
    )


def vector_add(x, y, out):
    if x.numel() >= LARGE and not _windows:
        driver = ctypes.CDLL("libcuda.so.1")
        size = torch.cuda.get_device_properties(0).L2_cache_size * 3 // 4
        driver.cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(size))
        size = min(size, x.numel() * x.element_size())
        _windows.append(Window(x.data_ptr(), size, 1.0, PERSISTING, STREAMING))
        driver.cuStreamSetAttribute(
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
            CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
            ctypes.byref(_windows[0]),
        )
    _honest(x, y, out)
