"""Triton's compiler, imported and hashed once in the fork server.

That takes half a second, or several seconds if the files are not in memory. Afterwards a kernel
compiles to TTIR in 20 to 50 ms.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language import standard

from grader.backends.triton.driver import properties


def preload() -> str | None:
    """Compile a kernel that uses what most kernels use; the fork server has no device to run it.

    Returns the reason if that failed. Workers then load the compiler themselves, and report it.
    """
    try:
        _preload()
    except Exception as error:
        return f"Triton's compiler is not preloaded: {type(error).__name__}: {error}"
    return None


def _preload() -> None:
    for function in _library():
        hash(function)  # of the function's text, made once
    major, minor = properties.CAPABILITY
    signature = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(_sums, signature, {"BLOCK": 64})
    with tempfile.TemporaryDirectory() as folder, knobs.cache.scope():
        knobs.cache.dir = folder
        triton.compile(source, target=GPUTarget("cuda", 10 * major + minor, properties.WARP))


def _library() -> Iterator[Any]:
    """Yield the functions of Triton's language that are kernels' helpers themselves."""
    for value in vars(standard).values():
        if isinstance(value, triton.JITFunction):
            yield value


@triton.jit  # type: ignore[untyped-decorator]
def _sums(x, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # Triton reads them
    total = 0.0
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.exp(tl.load(x + offsets, mask=offsets < n, other=0.0)))
    if total > 0:
        tl.store(out + tl.program_id(0), tl.maximum(total, tl.cdiv(n, BLOCK)))
