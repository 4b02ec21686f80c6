"""The mark of tests that compile numba's kernels: NVIDIA's library for it is optional."""

from __future__ import annotations

import pytest

from grader.backends.numba import BACKEND, compile_llvm

NEEDS_NVVM = pytest.mark.skipif(
    compile_llvm.COMPILER.missing() is not None,
    reason=f"needs pip install {BACKEND.compiler_needs['NVVM']}",
)
