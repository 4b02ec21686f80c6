"""Triton's compiler for NVIDIA GPUs, which ends after TTIR: the form that the device executes.

Everything up to there is Triton's own, errors included. What later stages would find out
(registers, spills, the layout of shared memory) is the business of the step `compile`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import triton
import triton.backends
from triton import knobs, runtime
from triton.backends.nvidia.compiler import CUDABackend

from grader.backends.triton.driver import diagnostics
from grader.backends.triton.driver.diagnostics import diagnosed
from grader.backends.triton.driver.errors import NotSimulated

STAGE = "ttir"
LOADED = "simulated"  # the name of our binary among a kernel's forms, in the place of "cubin"

# Operations that exchange values between threads: a real kernel does so in shared memory, and files
# divide by its size. The true size is unknown without compiling to the end.
_EXCHANGES = re.compile(r'"?tt\.(reduce|scan|dot|dot_scaled|histogram|gather|trans|reshape|join)\b')
_SHARED_PER_WARP = 4  # bytes: a reduction's float from each

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
        make_ttir = stages[STAGE]

        def diagnosed_ttir(module: Any, metadata: dict[str, Any]) -> Any:
            with diagnosed():
                return make_ttir(module, metadata)

        stages.clear()
        stages |= {STAGE: diagnosed_ttir, LOADED: _finish}

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


class PlainFiles(runtime.cache.FileCacheManager):
    """Triton's cache of compiled kernels without its temporary folders, which cost 3 ms a file.

    They guard against other processes that read the same cache: a worker has a cache of its own.
    """

    def put(self, data: object, filename: str, binary: bool = True) -> str:
        path = Path(self.cache_dir, filename)
        path.write_bytes(data if isinstance(data, bytes) else str(data).encode())
        return str(path)


def install() -> None:
    """Compile every kernel of this process for CUDA targets with this backend."""
    knobs.cache.manager_class = PlainFiles
    # It hashes all of Triton, 400 MB, in case that changes. A worker's cache sees one Triton only.
    runtime.cache.triton_key = lambda: triton.__version__
    diagnostics.install()
    known = triton.backends.backends
    known["nvidia"] = triton.backends.Backend(TtirBackend, known["nvidia"].driver)
