"""NVRTC, loaded once in the fork server.

Nothing here starts CUDA, which no fork survives: a first compilation would, where there is a GPU.
"""

from __future__ import annotations

from cuda.bindings import nvrtc


def preload() -> str | None:
    """Load NVRTC, and compile nothing.

    Returns the reason if that failed. Workers then load it themselves, and report the fault.
    """
    try:
        error, *_ = nvrtc.nvrtcVersion()
        if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            return f"NVRTC is not preloaded: {error.name}"
    except Exception as error:
        return f"NVRTC is not preloaded: {type(error).__name__}: {error}"
    return None
