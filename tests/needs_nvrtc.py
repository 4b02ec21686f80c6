"""The mark of tests that compile CUDA C++: NVIDIA's library for it is optional."""

from __future__ import annotations

import pytest

from grader.backends.cuda import BACKEND, compile_cpp

NEEDS_NVRTC = pytest.mark.skipif(
    compile_cpp.COMPILER.missing() is not None,
    reason=f"needs pip install {BACKEND.compiler_needs['NVRTC']}",
)
