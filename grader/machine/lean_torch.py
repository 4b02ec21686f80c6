"""Import torch without what only its compiler and its `meta` device need.

A third of the time that `import torch` takes goes into torch._meta_registrations: shapes of results
without results, for hundreds of operations. Commands and judges never ask for them. Workers import
all of torch, for a kernel file may.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PUT_OFF = "torch._meta_registrations"


def put_off_meta_kernels() -> None:
    """Let the module execute when something is first looked up in it. Call it before torch."""
    if not any(isinstance(finder, _PuttingOff) for finder in sys.meta_path):
        sys.meta_path.insert(0, _PuttingOff())


class _PuttingOff(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == PUT_OFF else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Later(spec.loader)
        return spec


class _Later(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def exec_module(self, module: ModuleType) -> None:
        def execute(name: str) -> object:
            del module.__dict__["__getattr__"]
            self._loader.exec_module(module)
            return getattr(module, name)

        module.__dict__["__getattr__"] = execute  # PEP 562: asked for names that are not there
