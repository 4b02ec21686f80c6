"""Atomic operations: they return what was there before, and order programs."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from grader.backends.triton.device import serial, undefined
from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.mappings import Bits, Places
from grader.backends.triton.device.memory import Update
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.operations.memory import access
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation

_FUNCTIONS: dict[str, np.ufunc] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "fadd": np.add,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "max": np.maximum,
    "min": np.minimum,
    "umax": np.maximum,
    "umin": np.minimum,
}
_EXTREMES = ("max", "min")


@operation("tt.atomic_rmw")
def atomic_rmw(op: Operation, operands: Operands, run: Run) -> Tensor:
    pointers, values, *masked = operands
    mask = masked[0] if masked else None
    here = access(op, "atomic", pointers, mask, op.operand_types[1], run)
    kind = str(op.attributes.get("atomic_rmw_op"))
    return run.memory.atomic(here, update(kind, here.dtype, run), values)


@operation("tt.atomic_cas")
def atomic_cas(op: Operation, operands: Operands, run: Run) -> Tensor:
    pointers, expected, values = operands
    here = access(op, "atomic", pointers, None, op.operand_types[2], run)
    return run.memory.atomic(here, partial(serial.update, combine=_swap), expected, values)


def _swap(found: Bits, expected: Bits, values: Bits) -> Bits:
    """Compare bits, as a GPU does: NaN may equal NaN, and -0 differs from 0."""
    return np.where(found == expected, values, found)


def update(kind: str, dtype: torch.dtype, run: Run) -> partial[Bits]:
    """Return what changes elements as an atomic operation of a kind does."""
    if kind in ("exch", "xchg"):
        return partial(serial.update, combine=_exchange, chain=_exchanged)
    if kind not in _FUNCTIONS:
        raise Malformed(f"no atomic {kind}")
    if dtype == torch.bfloat16 and kind == "fadd":
        return partial(serial.update, combine=_add_bfloat16)
    if dtype == torch.bfloat16:
        raise NotSimulated(f"an atomic {kind} of bfloat16")
    letter = {"f": "f", "u": "u"}.get(kind[0], "i")
    if (letter == "f") != dtype.is_floating_point:
        raise Malformed(f"an atomic {kind} of {dtype}")
    function, numbers = _FUNCTIONS[kind], np.dtype(f"{letter}{dtype.itemsize}")
    change = partial(
        serial.update,
        combine=partial(_combined, function, numbers),
        chain=partial(_accumulated, function, numbers),
    )
    loads = run.memory.undefined_loads
    return partial(_extreme, change, dtype, loads) if loads and kind[-3:] in _EXTREMES else change


def _extreme(
    change: Update, dtype: torch.dtype, loads: int, held: Bits, places: Places, by: Bits
) -> Bits:
    """Keep what was undefined before, and store what a lane brings, instead of a number.

    Triton makes extremes of floats from those of integers, by their bits.
    """
    before = held.copy()
    found = change(held, places, by)
    stays, comes = (undefined.among_bits(each, dtype, loads) for each in (before, by))
    held[stays] = before[stays]
    held[places[comes]] = by[comes]
    return found


def _exchange(found: Bits, values: Bits) -> Bits:
    return values


def _exchanged(first: Bits, values: Bits) -> Bits:
    return np.concatenate([first, values])


def _combined(function: np.ufunc, numbers: np.dtype[np.generic], found: Bits, by: Bits) -> Bits:
    with np.errstate(all="ignore"):
        result: Bits = function(found.view(numbers), by.view(numbers)).view(found.dtype)
    return result


def _accumulated(function: np.ufunc, numbers: np.dtype[np.generic], first: Bits, by: Bits) -> Bits:
    every = np.concatenate([first, by])
    with np.errstate(all="ignore"):
        result: Bits = function.accumulate(every.view(numbers), dtype=numbers).view(first.dtype)
    return result


def _add_bfloat16(found: Bits, by: Bits) -> Bits:
    one, other = (torch.from_numpy(each.copy()).view(torch.bfloat16) for each in (found, by))
    result: Bits = (one + other).view(torch.int16).numpy()
    return result
