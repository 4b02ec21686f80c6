"""Triton's compiler for NVIDIA GPUs, which ends after TTIR: the form that the device executes.

Everything up to there is Triton's own, errors included. What later stages would find out
(registers, spills, the layout of shared memory) is the business of the step `compile`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import triton.backends
from triton.backends.nvidia.compiler import CUDABackend

from grader.backends.triton.driver.errors import NotSimulated

STAGE = "ttir"
LOADED = "simulated"  # the name of our binary among a kernel's forms, in the place of "cubin"

# Operations that exchange values between threads: a real kernel does so in shared memory, and files
# divide by its size. The true size is unknown without compiling to the end.
_EXCHANGES = re.compile(r'"?tt\.(reduce|scan|dot|dot_scaled|histogram|gather|trans|reshape|join)\b')
_SHARED_PER_WARP = 128  # bytes: a float for each lane

_Stages = dict[str, Callable[[Any, dict[str, Any]], Any]]


class TtirBackend(CUDABackend):
    """Options, checks and first stage of Triton's backend for the same target."""

    def __init__(self, target: Any) -> None:
        super().__init__(target)
        self.binary_ext = LOADED

    def add_stages(self, stages: _Stages, options: Any, language: Any) -> None:
        """Keep the stage that makes TTIR. Raises NotSimulated for Gluon, which has none."""
        super().add_stages(stages, options, language)
        if STAGE not in stages:
            raise NotSimulated("Gluon")
        for name in [name for name in stages if name != STAGE]:
            del stages[name]
        stages[LOADED] = _finish

    def hash(self) -> str:
        """Name the last stage in the keys of Triton's cache, without asking ptxas for a version."""
        return f"{LOADED}-{self.target.arch}"


def _finish(module: Any, metadata: dict[str, Any]) -> bytes:
    """Fill in what launches and files read of a compiled kernel, and return its TTIR."""
    text = str(module)
    exchanges = _EXCHANGES.search(text) is not None
    metadata |= {
        "name": module.get_entry_func_name(),
        "shared": _SHARED_PER_WARP * metadata["num_warps"] if exchanges else 0,
        "tmem_size": 0,
        "global_scratch_size": 0,
        "global_scratch_align": 1,
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
    }
    return text.encode()


def install() -> None:
    """Compile every kernel of this process for CUDA targets with this backend."""
    known = triton.backends.backends
    known["nvidia"] = triton.backends.Backend(TtirBackend, known["nvidia"].driver)
