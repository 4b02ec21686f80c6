"""The kernels that a call launches, as NVIDIA's compiler gets them of numba."""

from __future__ import annotations

import json
import math
from typing import Any

from grader.backends.numba.simulator.internals import code_of
from grader.model import BuildOptions, Specialisation

_WARP = 32  # threads

# Compiled kernels, each with the warps of a block and the bytes that its launch adds; in order.
_launched: dict[tuple[Any, int, int], Any] = {}


def forget() -> None:
    _launched.clear()


def note(kernel: Any, compiled: Any, configuration: Any) -> None:
    """Note a launch of a kernel in its compiled form."""
    warps = math.ceil(math.prod(configuration.blockdim) / _WARP)
    _launched[compiled, warps, configuration.sharedmem] = kernel


def launched() -> tuple[Specialisation, ...]:
    """Return each compiled form that was launched, once for each form of its blocks."""
    return tuple(
        Specialisation(
            kernel=kernel.py_func.__name__,
            text=_source(kernel.targetoptions, compiled),
            options=BuildOptions(
                num_warps=warps, maxnreg=kernel.targetoptions.get("max_registers"), shared=shared
            ),
        )
        for (compiled, warps, shared), kernel in _launched.items()
    )


def _source(options: Any, compiled: Any) -> str:
    source = {
        "modules": code_of(compiled),
        "fastmath": bool(options.get("fastmath")),
        "opt": bool(options.get("opt")),
    }
    return json.dumps(source)
