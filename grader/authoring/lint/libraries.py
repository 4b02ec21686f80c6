"""The libraries that kernels are written in: names of all backends together."""

from __future__ import annotations

from functools import cache

from grader import backends
from grader.model import SourceNames


def libraries() -> tuple[SourceNames, ...]:
    """Return the names of each backend's library."""
    return _read(backends.names())


@cache
def _read(names: tuple[str, ...]) -> tuple[SourceNames, ...]:
    return tuple(map(backends.source_names, names))


def kernel_makers() -> frozenset[str]:
    """Return everything that makes a function a kernel."""
    return frozenset[str]().union(*(one.kernels for one in libraries()))


def wrappers() -> frozenset[str]:
    """Return the calls of libraries that give back the function that they are given."""
    return frozenset[str]().union(*(one.wrappers for one in libraries()))


def modules() -> frozenset[str]:
    """Return the top-level modules of all libraries."""
    return frozenset(module for backend in backends.every() for module in backend.modules)
