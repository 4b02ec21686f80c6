"""The launch that runs in this process: at most one, because kernels launch none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_running: list[Any] = []


def running() -> Any:
    """Return the `cuda` of the launch that runs; None outside of one."""
    return _running[-1] if _running else None


@contextmanager
def launching(cuda: Any) -> Iterator[None]:
    _running.append(cuda)
    try:
        yield
    finally:
        _running.pop()
