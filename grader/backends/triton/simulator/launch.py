"""A launch: of a kernel's first configuration, on memory that it may touch, and undone if asked."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
import triton.language as tl

from grader.backends.triton.simulator.internals import Handle, autotuner, interpreter
from grader.backends.triton.simulator.language import already_patched
from grader.backends.triton.simulator.races import Programs
from grader.worker.bounds import Span
from grader.worker.launches import Withheld
from grader.worker.torch_operations import Dispatched


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
        storages = [pair for name, value in named.items() for pair in _storages(name, value)]
        scratch = [_span(name, storage) for name, storage in storages]
        for _, storage in storages:
            _see(storage)
        builder = interpreter.interpreter_builder
        already_patched.clear()
        with (
            builder.guard.launch(scratch) as allowed,
            # A GPU does not stop at Inf and NaN to say so.
            np.errstate(all="ignore"),
            _NoTorch(),
            warnings.catch_warnings(action="ignore", category=RuntimeWarning),
        ):
            builder.programs = Programs(allowed)
            with _without_effect(allowed, _withheld) if _withheld else nullcontext():
                super().__call__(*args, **kwargs)

    # The tensors are in host memory already: Triton would copy each one's whole storage.

    def _init_args_hst(self, args: Any, kwargs: Any) -> Any:
        named = zip(self.arg_names, args, strict=False)
        return [self._in_kernel(*one) for one in named], {
            name: self._in_kernel(name, value) for name, value in kwargs.items()
        }

    def _in_kernel(self, name: str, value: object) -> object:
        """Make a bool what a GPU makes of it: Triton's interpreter would give it 32 bits."""
        if type(value) is not bool or name in self.constexprs:
            return value
        return tl.tensor(Handle(np.array([value]), tl.int1), tl.int1)

    def _restore_args_dev(self, *args_and_copies: Any) -> None:
        pass


class _NoTorch(Dispatched):
    """Refuses torch's operations: what a kernel calls has to be there on a GPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise TypeError(
            f"torch's {func.overloadpacket.__name__} cannot be used in a kernel: a GPU's programs "
            "have the operations of tl alone"
        )


def _unseen(storage: torch.UntypedStorage) -> None:
    """Nobody looks at the memory behind the arguments of a launch."""


_see: Callable[[torch.UntypedStorage], None] = _unseen


@contextmanager
def watching(see: Callable[[torch.UntypedStorage], None]) -> Iterator[None]:
    """Show `see` the memory behind each argument of a launch, until the end of the block."""
    global _see
    _see = see
    try:
        yield
    finally:
        _see = _unseen


_withheld: Withheld | None = None  # while launches leave memory as they found it


@contextmanager
def undoing() -> Iterator[Withheld]:
    """Run launches, which may raise, but put memory back as it was."""
    global _withheld
    _withheld = withheld = Withheld()
    try:
        yield withheld
    finally:
        _withheld = None


@contextmanager
def _without_effect(spans: Iterable[Span], withheld: Withheld) -> Iterator[None]:
    """Put back what these bytes held; no kernel can write any others."""
    with withheld.own_part():
        kept = [(s.start, ctypes.string_at(s.start, s.stop - s.start)) for s in spans]
    try:
        yield
    finally:
        with withheld.own_part():
            for start, held in kept:
                ctypes.memmove(start, held, len(held))
    withheld.launch()


def _storages(name: str, value: Any) -> Iterator[tuple[str, torch.UntypedStorage]]:
    """Yield the memory behind an argument of a launch, or behind each part of it."""
    if isinstance(value, tuple):
        for part in value:
            yield from _storages(name, part)
    elif hasattr(value, "base"):  # a tensor descriptor, or a tensor seen as another dtype
        yield from _storages(name, value.base)
    elif isinstance(value, torch.Tensor):
        yield name, value.untyped_storage()


def _span(name: str, storage: torch.UntypedStorage) -> Span:
    return Span(storage.data_ptr(), storage.data_ptr() + storage.nbytes(), name)
