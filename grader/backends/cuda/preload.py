"""NVRTC, loaded once in the parent of all workers. Nothing here starts CUDA."""

from __future__ import annotations

from cuda import core

TARGET = "sm_90"  # any GPU: what is compiled here is thrown away
_program, _options = core.Program, core.ProgramOptions  # before a dry run replaces them


def preload() -> str | None:
    """Load NVRTC and compile a first source.

    Returns the reason if that failed. Workers then load it themselves, and report the fault.
    """
    try:
        source = 'extern "C" __global__ void nothing() {}'
        _program(source, "c++", _options(arch=TARGET)).compile("cubin")
    except Exception as error:
        return f"NVRTC is not preloaded: {type(error).__name__}: {error}"
    return None
