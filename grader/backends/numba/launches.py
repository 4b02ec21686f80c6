"""Launches of compiled numba CUDA kernels: observed where each one passes, or withheld."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from grader.model import Launched
from grader.worker.launches import Launches, Withheld, graphs_withheld, replaced


@contextmanager
def observed() -> Iterator[Launches]:
    """Note each launch: it passes `_Kernel.launch`, with the size of its blocks."""
    from numba.cuda import dispatcher

    launches = Launches(_read=_figures)
    original = dispatcher._Kernel.launch

    def launch(
        kernel: Any, args: Any, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> Any:
        launches.note(kernel, prod(blockdim), sharedmem)
        return original(kernel, args, griddim, blockdim, stream, sharedmem)

    with replaced(dispatcher._Kernel, "launch", launch):
        yield launches


def _figures(kernel: Any, threads: int, shared: int, launches: int) -> Launched:
    return Launched(
        kernel=kernel.py_func.__name__,
        registers=kernel.regs_per_thread,
        # Local memory holds spilled registers and `cuda.local` arrays alike.
        spills=None if kernel.local_mem_per_thread else 0,
        shared_bytes=kernel.shared_mem_per_block + shared,
        threads=threads,
        launches=launches,
    )


@contextmanager
def withheld() -> Iterator[Withheld]:
    """Compile kernels, and report errors of that, but start none."""
    from numba.cuda import dispatcher

    record = Withheld()
    with replaced(dispatcher._Kernel, "launch", record.launch), graphs_withheld(record):
        yield record
