"""The libraries that kernels are written in: names of all backends together."""

from __future__ import annotations

from functools import cache

from grader import backends
from grader.model import SourceNames


def libraries() -> tuple[SourceNames, ...]:
    return _read(backends.names())


@cache
def _read(names: tuple[str, ...]) -> tuple[SourceNames, ...]:
    return tuple(map(backends.source_names, names))


def kernel_makers() -> frozenset[str]:
    return frozenset[str]().union(*(one.kernels for one in libraries()))


def launchers() -> frozenset[str]:
    return frozenset[str]().union(*(one.launchers for one in libraries()))


def wrappers() -> frozenset[str]:
    """Return the calls of libraries that return the function that they receive."""
    return frozenset[str]().union(*(one.wrappers for one in libraries()))


def modules() -> frozenset[str]:
    return frozenset(module for backend in backends.every() for module in backend.modules)
