"""Every access of every lane of one call, in order, from which pictures are drawn.

A log exists only on request. It holds what a launch did, up to a limit; `lane_rows` chooses what of
it the judge gets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grader.backends.triton.device.access import Access
from grader.backends.triton.device.faults import Fault, Race
from grader.backends.triton.device.integers import as_integers
from grader.backends.triton.device.lanes import Lanes
from grader.backends.triton.device.memory import Memory, Update
from grader.backends.triton.device.ttir.records import Module, Operation, Type
from grader.backends.triton.device.values import DTYPES, whole
from grader.model import LONGEST_NAME, MOST_LAUNCHES, MOST_OPERATIONS, LaunchRef, OperationKind
from grader.worker.bounds import Span

MOST_HELD = 1 << 21  # lanes, of some 20 bytes each

# Of each operation, its kind, and the operand that has the shape of its block; None: its result.
_KINDS: dict[str, tuple[OperationKind, int | None]] = {
    "tt.load": ("load", None),
    "tt.descriptor_load": ("load", None),
    "tt.descriptor_gather": ("load", None),
    "tt.store": ("store", 1),
    "tt.descriptor_store": ("store", 1),
    "tt.descriptor_scatter": ("store", 3),
    "tt.atomic_rmw": ("atomic", 1),
    "tt.atomic_cas": ("atomic", 2),
    "tt.descriptor_reduce": ("atomic", 1),
    "tt.reduce": ("reduce", None),
}


@dataclass(frozen=True)
class Known:
    """An operation of a launch's text."""

    launch: int
    kind: OperationKind
    operation: Operation
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def lanes(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Noted:
    """One operation, executed once by each of some programs: arrays of (programs, lanes).

    `addresses` is None for a reduction, `bits` where a fault came before the values. `other` is
    what masked lanes get: its bits, () if there are several, None if nothing is defined. `races`
    is the address of a race, and its two programs.
    """

    operation: int
    programs: NDArray[np.int64]
    loops: tuple[Any, ...]
    addresses: NDArray[np.int64] | None
    active: NDArray[np.bool_] | None
    bits: NDArray[Any] | None
    other: int | tuple[()] | None = None
    stopped: bool = False
    races: tuple[int, int, int] | None = None


@dataclass
class LaneLog:
    """The accesses of a call so far. `undefined` is the number of undefined loads."""

    launches: list[LaunchRef] = field(default_factory=list)
    scratch: list[tuple[Span, ...]] = field(default_factory=list)  # of each launch
    operations: list[Known] = field(default_factory=list)
    noted: list[Noted] = field(default_factory=list)
    cut: int = 0
    undefined: int = 0
    _numbers: dict[int, int] = field(default_factory=dict)  # by the id of an operation's record
    _held: int = 0

    def begin_launch(
        self, kernel: str, grid: tuple[int, int, int], module: Module, scratch: Sequence[Span]
    ) -> None:
        self._numbers = {}
        if len(self.launches) == MOST_LAUNCHES:
            return
        known = [_known(len(self.launches), op) for op in module.operations() if op.name in _KINDS]
        for each in known[: MOST_OPERATIONS - len(self.operations)]:
            self._numbers[id(each.operation)] = len(self.operations)
            self.operations.append(each)
        lanes = max((each.lanes for each in known), default=1)
        self.launches.append(LaunchRef(kernel[:LONGEST_NAME], grid, (max(lanes, 1), 1, 1)))
        self.scratch.append(tuple(scratch))

    def note(self, access: Access, values: Tensor | None, other: Tensor | None = None) -> None:
        """Note an access; `values` are those of its lanes, with any axis of 1."""
        self._note(access, values, _bits_of_other(other))

    def refuse(self, access: Access, values: Tensor | None, fault: Fault) -> None:
        """Note an access that a fault stopped."""
        races = None
        if isinstance(fault, Race) and fault.address is not None:
            races = fault.address, *fault.programs
        self._note(access, values, None, stopped=True, races=races)

    def note_result(
        self, operation: Operation, programs: Tensor, loops: tuple[Any, ...], result: Tensor
    ) -> None:
        number = self._numbers.get(id(operation))
        if number is None or not self._has_space(result.numel()):
            return
        bits = as_integers(result).numpy().reshape(result.shape[0], -1)
        bits = np.broadcast_to(bits, (programs.shape[0], bits.shape[1]))
        self.noted.append(Noted(number, programs.numpy(), loops, None, None, bits))

    def _note(
        self,
        access: Access,
        values: Tensor | None,
        other: int | tuple[()] | None,
        **more: Any,
    ) -> None:
        number = self._numbers.get(id(access.operation))
        block = tuple(access.addresses.shape[1:])
        shape = access.programs.shape[0], math.prod(block)
        if number is None or not (self._has_space(math.prod(shape)) or more.get("stopped")):
            self.cut += math.prod(shape)
            return

        def rows(value: Tensor) -> NDArray[Any]:
            return value.expand(-1, *block).expand(shape[0], *block).reshape(shape).numpy()

        on = torch.ones(1, *[1] * len(block), dtype=torch.bool)
        noted = Noted(
            operation=number,
            programs=access.programs.numpy(),
            loops=access.loops,
            addresses=rows(whole(access.addresses)),
            active=rows(on if access.mask is None else access.mask),
            bits=None if values is None else rows(as_integers(values)),
            other=other,
            **more,
        )
        self.noted.append(noted)

    def _has_space(self, lanes: int) -> bool:
        fits = self._held + lanes <= MOST_HELD
        self._held += lanes if fits else 0
        return fits


class LoggedMemory(Memory):
    """A launch's memory that notes each access in a log."""

    def __init__(self, log: LaneLog, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._log = log

    def load(self, access: Access, other: Tensor | None = None) -> Tensor:
        with self._stopping(access, None):
            loaded = super().load(access, other)
        self._log.note(access, loaded, other)
        return loaded

    def store(self, access: Access, values: Tensor) -> None:
        with self._stopping(access, values):
            super().store(access, values)
        self._log.note(access, values)

    def atomic(self, access: Access, update: Update, *operands: Tensor) -> Tensor:
        with self._stopping(access, None):
            found = super().atomic(access, update, *operands)
        lanes = Lanes.of(access, apart=True)
        self._log.note(access, lanes.value(self._held(lanes)))
        return found

    def note_result(
        self, operation: Operation, programs: Tensor, loops: tuple[Any, ...], result: Tensor
    ) -> None:
        self._log.note_result(operation, programs, loops, result)

    @contextmanager
    def _stopping(self, access: Access, values: Tensor | None) -> Iterator[None]:
        try:
            yield
        except Fault as fault:
            self._log.refuse(access, values, fault)
            raise
        finally:
            self._log.undefined = self.undefined_loads


def _known(launch: int, op: Operation) -> Known:
    kind, operand = _KINDS[op.name]
    types = op.result_types if operand is None else op.operand_types
    at = operand or 0
    type_ = types[at] if at < len(types) else Type("i32")
    dtype = DTYPES.get(type_.element.removeprefix("s").removeprefix("u"), torch.int32)
    return Known(launch, kind, op, type_.shape or (), dtype)


def _bits_of_other(other: Tensor | None) -> int | tuple[()] | None:
    if other is None:
        return None
    bits = as_integers(other).flatten()
    return int(bits[0]) if bool((bits == bits[0]).all()) else ()
