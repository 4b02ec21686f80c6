"""Forget the modules of one exercise, so that a judge reads them anew for the next request."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def forgotten(folder: Path) -> Iterator[None]:
    """Restore sys.path afterwards, and drop the modules imported from the exercise's folder.

    All tests are called test_kernel.py, so the next exercise would get the modules of this one; and
    the next request for this exercise, those of files that its author has changed since. Nor is
    compiled code written: Python takes it for that of a later file of the same second and size.
    """
    before, path, written = set(sys.modules), list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()  # a module may have been added since Python listed a folder
    try:
        yield
    finally:
        for name in sys.modules.keys() - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder):
                del sys.modules[name]
        sys.path[:], sys.dont_write_bytecode = path, written
