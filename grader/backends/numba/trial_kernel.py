"""A small numba CUDA kernel: `grader doctor` runs it to check that numba works here."""

from __future__ import annotations

from typing import Any

from numba import cuda as untyped

cuda: Any = untyped
THREADS = 128


@cuda.jit
def _add(a, b, out):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


def add(a: Any, b: Any, out: Any) -> None:
    """`out` = `a` + `b`, all float32 of one length."""
    _add[-(-out.size // THREADS), THREADS](a, b, out)
