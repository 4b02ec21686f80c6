"""Names in the text of kernels, and their meaning while a launch is simulated.

A kernel file may import `cuda`, single names of it, or numba itself, under any name. The functions
of a launch find the simulated things there, from their first call until the launch ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
from numba import cuda
from numba.cuda import cg, libdevice

from grader.backends.numba.simulator.gpu_math import MATH
from grader.backends.numba.simulator.libdevice import LIBDEVICE

_MOVING = ("threadIdx", "blockIdx", "laneid", "shared")  # differ from thread to thread
Put = Callable[[Any], None]


class Names:
    """The names that the functions of one launch use, and what they stood for before."""

    def __init__(self, simulated: Any, device_names: tuple[str, ...]) -> None:
        self._seen: set[FunctionType] = set()
        self._before: list[tuple[Put, Any]] = []
        self.moving: list[tuple[Put, str]] = []  # to be put again for each thread
        self._simulated = simulated
        self._meanings: dict[int, Any] = {
            id(cuda): simulated,
            id(numba): _Module(numba, cuda=simulated),
            id(math): MATH,
            id(libdevice): LIBDEVICE,
            id(cg): simulated.cg,
        }
        self._names = {id(vars(cuda)[name]): name for name in device_names if name in vars(cuda)}
        for library, ours in ((math, MATH), (libdevice, LIBDEVICE)):
            for name, meaning in vars(ours).items():
                if callable(meaning) and name in vars(library):
                    self._meanings[id(vars(library)[name])] = meaning

    def enter(self, function: FunctionType) -> None:
        """Let this function, which is about to be called, use simulated things."""
        if function in self._seen:
            return
        self._seen.add(function)
        for value, put in _used(function):
            name = self._names.get(id(value))
            meaning = self._meanings.get(id(value))
            if name is None and meaning is None:
                continue
            self._before.append((put, value))
            put(meaning if name is None else getattr(self._simulated, name))
            if name is not None and name in _MOVING:
                self.moving.append((put, name))

    def move(self) -> None:
        """Let the single names that differ from thread to thread be those of the acting one."""
        for put, name in self.moving:
            put(getattr(self._simulated, name))

    def leave(self) -> None:
        """Let all names mean what they did before the launch."""
        for put, value in reversed(self._before):
            put(value)
        self._before, self._seen, self.moving = [], set(), []


class _Module:
    """A module some of whose names are others."""

    def __init__(self, module: ModuleType, **others: Any) -> None:
        self._module = module
        vars(self).update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _used(function: FunctionType) -> Iterator[tuple[Any, Put]]:
    """Yield what a function's global names and closure stand for, and how to change each."""
    known = function.__globals__
    for name in _names(function.__code__):
        if name in known:
            yield known[name], partial(known.__setitem__, name)
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        yield held, partial(setattr, cell, "cell_contents")


def _names(code: CodeType) -> set[str]:
    """Return the names in a function and in those inside of it; some are attributes."""
    inner = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)
