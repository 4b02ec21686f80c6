"""Memory and traffic of torch operations in a simulated call, seen as each is carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._C import DispatchKey
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from grader.worker.allocations import Allocations
from grader.worker.bounds import Access, Span
from grader.worker.leaves import leaves
from grader.worker.traffic_counter import Ledger


class Dispatched(TorchDispatchMode):
    """A mode that sees torch's operations one by one, each as `operate`.

    In inference mode torch sends compositions such as `to` and `contiguous`, of which nothing says
    whether they copy: they are taken apart.

    Torch's compiler need not leave the mode out. To mark it for that, torch would import its
    compiler, which takes a second of every check.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.has_kernel_for_dispatch_key(DispatchKey.CompositeImplicitAutograd):
            with self:
                return func.decompose(*args, **(kwargs or {}))
        return self.operate(func, args, kwargs or {})

    def operate(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Carry one operation out."""
        raise NotImplementedError

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Allocating(Dispatched):
    """Records the memory of every tensor that a torch operation makes while it is entered.

    Tensors in the arena are arguments, and do not belong to the kernel file. `also` sees the memory
    of all others.
    """

    def __init__(
        self,
        allocations: Allocations,
        arena: Span,
        also: Callable[[torch.UntypedStorage], None] | None = None,
    ) -> None:
        super().__init__()
        self._allocations = allocations
        self._arena = arena
        self._also = also

    def operate(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        for leaf in leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.see(leaf.untyped_storage())
        return result

    def see(self, storage: torch.UntypedStorage) -> None:
        """Record memory that may have been allocated without a torch operation."""
        if not self._arena.start <= storage.data_ptr() < self._arena.stop:
            # A weak reference to the storage itself: Python's object for it may not last.
            reference = StorageWeakRef(storage)
            self._allocations.see(
                reference.cdata,
                storage.nbytes(),
                lambda: not reference.expired(),
            )
            if self._also is not None:
                self._also(storage)


class Moving(Dispatched):
    """Records reads and writes of a call's arguments by torch while it is entered."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def operate(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        schema = func._schema
        if moves(schema):
            given = dict(zip((p.name for p in schema.arguments), args, strict=False)) | kwargs
            for parameter in schema.arguments:
                for leaf in leaves(given.get(parameter.name)):
                    if isinstance(leaf, torch.Tensor):
                        size = leaf.numel() * leaf.element_size()
                        self._ledger.note_whole(leaf.data_ptr(), size, _use(parameter, schema))
        return result


_OVERWRITES = ("aten::copy_", "aten::fill_", "aten::zero_")  # in place, without reading old values


def moves(schema: Any) -> bool:
    """Report whether an operation touches memory: views and operations on shapes do not."""
    takes_shape = schema.name.startswith("aten::new_") or schema.name.endswith("_like")
    views = any(p.alias_info and not p.alias_info.is_write for p in schema.arguments)
    return not takes_shape and not views


def _use(parameter: Any, schema: Any) -> Access:
    if parameter.alias_info is None:
        return "load"
    return "store" if parameter.is_out or schema.name in _OVERWRITES else "atomic"
