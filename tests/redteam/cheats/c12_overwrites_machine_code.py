"""Overwrites the machine code of CUDA's function that tells the time between two events."""
# attacks: 01_vector_add
# harmless: at most 1.02
# GPU only: a simulated kernel is not timed

import ctypes
import mmap
import struct
from pathlib import Path

import torch
import triton
import triton.language as tl


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x, y, out):
    length = out.numel()
    _add[(triton.cdiv(length, 1024),)](x, y, out, length, BLOCK=1024)


# mov dword ptr [rdi], 0.001f; xor eax, eax; ret
_CODE = b"\xc7\x07" + struct.pack("<f", 0.001) + b"\x31\xc0\xc3"
_LIBC = ctypes.CDLL(None)


def _overwrite(library, name):
    try:
        address = ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
    except (AttributeError, OSError):
        return
    page = address & ~(mmap.PAGESIZE - 1)
    everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    if _LIBC.mprotect(ctypes.c_void_p(page), 2 * mmap.PAGESIZE, everything) == 0:
        ctypes.memmove(address, _CODE, len(_CODE))


torch.cuda.synchronize()
for _line in set(Path("/proc/self/maps").read_text().split()):
    if "libcudart" in _line:
        _overwrite(_line, "cudaEventElapsedTime")
        _overwrite(_line, "cudaEventElapsedTime_v2")
    if "libcuda.so" in _line:
        _overwrite(_line, "cuEventElapsedTime")
        _overwrite(_line, "cuEventElapsedTime_v2")
