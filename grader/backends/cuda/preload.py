"""NVRTC, loaded once in the parent of all workers. Nothing here starts CUDA.

NVRTC is called without cuda.core, whose `Program` starts CUDA where there is a GPU.
"""

from __future__ import annotations

from typing import Any

from cuda.bindings import nvrtc

SOURCE = b'extern "C" __global__ void nothing() {}'
TARGET = b"--gpu-architecture=sm_90"  # any GPU: what is compiled here is thrown away


def preload() -> str | None:
    """Load NVRTC and compile a first source.

    Returns the reason if that failed. Workers then load it themselves, and report the fault.
    """
    try:
        program = _done(nvrtc.nvrtcCreateProgram(SOURCE, b"nothing.cu", 0, [], []))
        _done(nvrtc.nvrtcCompileProgram(program, 1, [TARGET]))
        _done(nvrtc.nvrtcDestroyProgram(program))
    except Exception as error:
        return f"NVRTC is not preloaded: {type(error).__name__}: {error}"
    return None


def _done(result: tuple[Any, ...]) -> Any:
    error, *values = result
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(error.name)
    return values[0] if values else None
