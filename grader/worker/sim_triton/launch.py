"""A launch: of a kernel's first configuration, on memory that it may touch, and undone if asked."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch

from grader.worker.guard import Span
from grader.worker.sim_triton.internals import autotuner, interpreter
from grader.worker.sim_triton.language import already_patched
from grader.worker.sim_triton.races import Programs


class Autotuner(autotuner.Autotuner):
    """Chooses among the configurations of a kernel."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Take the first configuration: trying which is fastest needs a GPU."""
        del self.configs[1:]
        return super().run(*args, **kwargs)


class GridExecutor(interpreter.GridExecutor):
    """Runs the programs of a launch, on host memory."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        named = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
        scratch = [span for name, value in named.items() for span in _storage(name, value)]
        builder = interpreter.interpreter_builder
        already_patched.clear()
        with (
            builder.guard.launch(scratch) as allowed,
            # A GPU does not stop at Inf and NaN to say so.
            np.errstate(all="ignore"),
            warnings.catch_warnings(action="ignore", category=RuntimeWarning),
        ):
            builder.programs = Programs(allowed)
            with _restored(allowed) if _undoing else nullcontext():
                super().__call__(*args, **kwargs)

    # The tensors are in host memory already: Triton would copy each one's whole storage.

    def _init_args_hst(self, args: Any, kwargs: Any) -> Any:
        return args, kwargs

    def _restore_args_dev(self, *args_and_copies: Any) -> None:
        pass


_undoing = False  # whether launches that end leave memory as they found it


@contextmanager
def undoing() -> Iterator[None]:
    """Meanwhile a launch runs, and may raise, but leaves memory as it found it."""
    global _undoing
    _undoing = True
    try:
        yield
    finally:
        _undoing = False


@contextmanager
def _restored(spans: Iterable[Span]) -> Iterator[None]:
    """Put back what these bytes held; no kernel can write any others."""
    kept = [(span.start, ctypes.string_at(span.start, span.stop - span.start)) for span in spans]
    try:
        yield
    finally:
        for start, held in kept:
            ctypes.memmove(start, held, len(held))


def _storage(name: str, value: Any) -> Iterator[Span]:
    """The memory behind an argument of a launch, or behind each part of it."""
    if isinstance(value, tuple):
        for part in value:
            yield from _storage(name, part)
    elif hasattr(value, "base"):  # a tensor descriptor, or a tensor seen as another dtype
        yield from _storage(name, value.base)
    elif isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        yield Span(storage.data_ptr(), storage.data_ptr() + storage.nbytes(), name)
