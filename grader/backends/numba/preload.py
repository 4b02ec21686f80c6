"""Parts of numba that a first compilation loads, loaded once in the fork server.

Nothing here starts CUDA, which no fork survives.
"""

from __future__ import annotations

TARGET = (8, 0)  # any GPU's compute capability: what is compiled here is thrown away


def preload() -> str | None:
    """Load the compiler: 0.5 s of a first launch on an H200.

    Returns the reason if that failed. Workers then load it themselves, and report the fault.
    """
    try:
        from numba import cuda, types

        signature = (types.float32[::1],)
        cuda.compile_ptx(_nothing, signature, cc=TARGET)  # type: ignore[attr-defined, no-untyped-call]
    except Exception as error:
        return f"numba's compiler is not preloaded: {type(error).__name__}: {error}"
    return None


def _nothing(out):  # type: ignore[no-untyped-def]  # numba reads its types from the signature
    pass
