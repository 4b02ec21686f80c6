"""The import of numba-cuda on a machine without NVIDIA's CUDA runtime.

numba-cuda asks that library for its version while it is imported, and fails without it. Torch's
builds for GPUs bring it, and those for the CPU alone do not. Import this module before numba.
"""

from __future__ import annotations

from cuda.bindings import runtime

NO_ERROR, NONE = 0, 0


def _version_of_none() -> tuple[int, int]:
    return NO_ERROR, NONE


try:
    runtime.getLocalRuntimeVersion()
except RuntimeError:
    runtime.getLocalRuntimeVersion = _version_of_none
