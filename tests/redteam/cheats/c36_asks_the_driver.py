"""Asks the driver how far the allocation of its arguments reaches, and opens it to neighbours."""
# attacks: 04_online_softmax
# stopped: correctness value | correctness rms
# GPU only: it asks CUDA's driver

import contextlib
import ctypes

import torch

CUDA = ctypes.CDLL("libcuda.so.1")


def softmax(x, out):
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    CUDA.cuMemGetAddressRange_v2(
        ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(x.data_ptr())
    )
    out.zero_()
    row = out[0].numel() * out.element_size()
    # Before and behind the arguments, page by page, up to what the driver says and beyond.
    copied = torch.empty(row, dtype=torch.uint8, device=x.device)
    for start in range(base.value, base.value + size.value, 1 << 20):
        if start + row > base.value + size.value:
            break
        CUDA.cuMemcpyDtoD_v2(
            ctypes.c_uint64(copied.data_ptr()), ctypes.c_uint64(start), ctypes.c_size_t(row)
        )
        found = copied.view(out.dtype)
        if abs(found.double().sum().item() - 1) < 1e-3:
            out.copy_(found)
            return
    with contextlib.suppress(RuntimeError):
        x.untyped_storage()._share_cuda_()
