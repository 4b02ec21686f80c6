"""Which kernels a call launches, and what the compiler made of them.

Both libraries are observed where every launch passes, during one call that is not timed. What a
version does not tell is left out: it is only shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch

from grader.model import MOST_KERNELS, Launched

WORD = 4  # bytes: Triton counts what it spills in registers


@dataclass
class Launches:
    """The launches seen so far. One kernel launched with two block sizes counts as two."""

    _read: Callable[[Any, int, int, int], Launched]
    _seen: Counter[tuple[Any, int, int]] = field(default_factory=Counter)

    def note(self, kernel: Any, threads: int, shared: int = 0) -> None:
        """`kernel` starts with so many threads per block, and bytes of dynamic shared memory."""
        self._seen[kernel, threads, shared] += 1

    def told(self) -> tuple[Launched, ...]:
        """At most MOST_KERNELS kernels, the most launched first. Read after the launches: some
        figures exist only once a kernel is loaded."""
        found = []
        for (kernel, threads, shared), launches in self._seen.most_common(MOST_KERNELS):
            with suppress(AttributeError):  # a version that names it otherwise
                found.append(self._read(kernel, threads, shared, launches))
        return tuple(found)


@contextmanager
def triton_launches() -> Iterator[Launches]:
    """Observe Triton: `CompiledKernel.launch_metadata` is called at each launch (3.6 to 3.9)."""
    from triton.compiler import CompiledKernel

    launches = Launches(_read=_of_triton)
    original = CompiledKernel.launch_metadata

    def launch_metadata(kernel: Any, *args: Any, **options: Any) -> Any:
        with suppress(AttributeError):
            launches.note(kernel, kernel.metadata.num_warps * kernel.metadata.target.warp_size)
        return original(kernel, *args, **options)

    CompiledKernel.launch_metadata = launch_metadata
    try:
        yield launches
    finally:
        CompiledKernel.launch_metadata = original


def _of_triton(kernel: Any, threads: int, shared: int, launches: int) -> Launched:
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
def numba_launches() -> Iterator[Launches]:
    """Observe numba-cuda: each launch passes `_Kernel.launch`, with the size of its blocks."""
    from numba.cuda import dispatcher

    launches = Launches(_read=_of_numba)
    original = dispatcher._Kernel.launch

    def launch(
        kernel: Any, args: Any, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> Any:
        launches.note(kernel, prod(blockdim), sharedmem)
        return original(kernel, args, griddim, blockdim, stream, sharedmem)

    dispatcher._Kernel.launch = launch
    try:
        yield launches
    finally:
        dispatcher._Kernel.launch = original


# A call in which no kernel does anything: each is compiled and loaded, so that what fails at that
# still fails, and not started.


@contextmanager
def triton_without_launches() -> Iterator[None]:
    """Meanwhile no Triton kernel starts: `CompiledKernel.run` is what starts one (3.6 to 3.9).

    Nothing here touches what torch compiles for itself, which is no kernel of the learner's.
    """
    from triton.compiler import CompiledKernel

    run = CompiledKernel.run

    def loaded(kernel: Any) -> Callable[..., None]:
        run.fget(kernel)
        return _nothing

    with _replaced(CompiledKernel, "run", property(loaded)), _no_graph_is_replayed():
        yield


@contextmanager
def numba_without_launches() -> Iterator[None]:
    """Meanwhile no kernel of numba-cuda starts."""
    from numba.cuda import dispatcher

    with _replaced(dispatcher._Kernel, "launch", _nothing), _no_graph_is_replayed():
        yield


def _no_graph_is_replayed() -> AbstractContextManager[None]:
    return _replaced(torch.cuda.CUDAGraph, "replay", _nothing)


def _nothing(*args: Any, **options: Any) -> None:
    """In place of a launch."""


@contextmanager
def _replaced(owner: Any, name: str, other: object) -> Iterator[None]:
    original = vars(owner)[name]
    setattr(owner, name, other)
    try:
        yield
    finally:
        setattr(owner, name, original)


def _of_numba(kernel: Any, threads: int, shared: int, launches: int) -> Launched:
    return Launched(
        kernel=kernel.py_func.__name__,
        registers=kernel.regs_per_thread,
        # Local memory holds spilled registers and `cuda.local` arrays alike.
        spills=None if kernel.local_mem_per_thread else 0,
        shared_bytes=kernel.shared_mem_per_block + shared,
        threads=threads,
        launches=launches,
    )
