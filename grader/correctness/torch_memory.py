"""The bytes that torch holds while it computes the outputs of a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.model import HeldSeries, Holdings, Inputs, Spec


@dataclass(frozen=True)
class HeldByTorch:
    """Bytes that the reference holds beyond its inputs in one call; `outputs` are its outputs'."""

    series: HeldSeries
    outputs: int


class _Watching(TorchDispatchMode):
    """Records the memory of every tensor that one of torch's operations makes.

    The worker has a mode of its own for kernel files, of which this process imports nothing.
    `grader/worker/contract.py` names the private names of both.
    """

    def __init__(self, holdings: Holdings, given: frozenset[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._holdings = holdings
        self._given = given

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for storage in _storages(tree_leaves(result)):
            reference = StorageWeakRef(storage)
            if reference.cdata not in self._given:
                self._see(reference, storage.nbytes())
        return result

    def _see(self, reference: StorageWeakRef, size: int) -> None:
        self._holdings.see(reference.cdata, size, lambda: not reference.expired())

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or torch would import its compiler, which takes a second of every check


def held_by_torch(spec: Spec, inputs: Inputs) -> HeldByTorch:
    """Compute the outputs by the spec's reference, in the dtypes of the inputs, and watch.

    Raises whatever the reference raises.
    """
    given = frozenset(_sizes(inputs))
    holdings = Holdings()
    with _Watching(holdings, given):
        outputs = spec.reference(inputs)
    sizes = _sizes(outputs)
    return HeldByTorch(
        holdings.over_call(), sum(size for key, size in sizes.items() if key not in given)
    )


def _sizes(values: Mapping[str, Tensor | float]) -> dict[int, int]:
    """Return the bytes of each storage that holds one of the values."""
    return {StorageWeakRef(one).cdata: one.nbytes() for one in _storages(values.values())}


def _storages(values: Iterable[object]) -> Iterable[torch.UntypedStorage]:
    return (value.untyped_storage() for value in values if isinstance(value, Tensor))
