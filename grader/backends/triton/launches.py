"""Launches of compiled Triton kernels: observed where each one passes, or withheld."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from grader.model import Launched
from grader.worker.launches import Launches, Withheld, graphs_withheld, replaced

WORD = 4  # bytes: Triton counts spills in registers


@contextmanager
def observed() -> Iterator[Launches]:
    """Note each launch: Triton calls `CompiledKernel.launch_metadata` right before it."""
    from triton.compiler import CompiledKernel

    launches = Launches(_read=_figures)
    original = CompiledKernel.launch_metadata

    def launch_metadata(kernel: Any, *args: Any, **options: Any) -> Any:
        with suppress(AttributeError):  # it is only shown
            launches.note(kernel, kernel.metadata.num_warps * kernel.metadata.target.warp_size)
        return original(kernel, *args, **options)

    with replaced(CompiledKernel, "launch_metadata", launch_metadata):
        yield launches


def _figures(kernel: Any, threads: int, shared: int, launches: int) -> Launched:
    return Launched(
        kernel=kernel.name,
        registers=kernel.n_regs,
        # The driver's CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES / 4: Triton has no other local memory.
        spills=kernel.n_spills * WORD,
        shared_bytes=kernel.metadata.shared,
        threads=threads,
        launches=launches,
    )


@contextmanager
def withheld() -> Iterator[Withheld]:
    """Compile and load kernels, and report errors of that, but start none.

    Kernels that torch compiles for itself do start: they are not the learner's.
    """
    from triton.compiler import CompiledKernel

    record = Withheld()
    run = CompiledKernel.run  # a property, whose value starts the kernel when it is called

    def loaded(kernel: Any) -> Callable[..., None]:
        run.fget(kernel)
        return record.launch

    with replaced(CompiledKernel, "run", property(loaded)), graphs_withheld(record):
        yield record
