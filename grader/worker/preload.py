"""What a library loads for its first compilation, in the parent of workers: each would wait for it.

Nothing here starts CUDA, which no fork survives, and nothing stays in the home that workers write
to. What fails here is left to the worker, which meets it again and tells it.
"""

from __future__ import annotations

import contextlib
import tempfile

TARGET = 80  # any GPU's compute capability, times ten: what is compiled here is thrown away


def triton() -> None:
    """Load Triton's compiler and build its C module: 0.9 s of a first launch on an H200."""
    with contextlib.suppress(Exception):
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


def numba() -> None:
    """Load numba's compiler: 0.5 s of a first launch on an H200."""
    with contextlib.suppress(Exception):
        from numba import cuda, types

        signature = (types.float32[::1],)
        cuda.compile_ptx(_nothing, signature, cc=divmod(TARGET, 10))  # type: ignore[attr-defined, no-untyped-call]


def _nothing(out):  # type: ignore[no-untyped-def]  # Triton looks annotations up
    """A kernel."""
