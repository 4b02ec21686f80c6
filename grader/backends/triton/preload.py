"""Parts of Triton that a first compilation loads, loaded once in the fork server.

Nothing here starts CUDA, which no fork survives, and nothing stays in the home that workers write
to.
"""

from __future__ import annotations

import tempfile

TARGET = 80  # any GPU's compute capability, times ten: what is compiled here is thrown away


def preload() -> str | None:
    """Load the compiler and build Triton's C module: 0.9 s of a first launch on an H200.

    Returns the reason if that failed. Workers then load it themselves, and report the fault.
    """
    try:
        from triton import compile as compiled
        from triton import jit, knobs, runtime
        from triton.backends.compiler import GPUTarget
        from triton.backends.nvidia.driver import CudaDriver
        from triton.compiler import ASTSource

        with tempfile.TemporaryDirectory() as folder, knobs.cache.scope():
            knobs.cache.dir = folder
            source = ASTSource(jit(_nothing), signature={"out": "*fp32"})
            compiled(source, target=GPUTarget("cuda", TARGET, 32))
            runtime.driver.set_active(CudaDriver())
    except Exception as error:
        return f"Triton's compiler is not preloaded: {type(error).__name__}: {error}"
    return None


def _nothing(out):  # type: ignore[no-untyped-def]  # Triton looks annotations up
    pass
