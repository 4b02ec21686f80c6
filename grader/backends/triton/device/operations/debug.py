"""`tl.device_print` and `tl.device_assert`."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from grader.backends.triton.device import integers
from grader.backends.triton.device.faults import AssertFailed
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.device.values import expanded


@operation("tt.assert")
def assert_(op: Operation, operands: Operands, run: Run) -> None:
    """Raise AssertFailed with the first program, and the first element, for which it is false."""
    condition = expanded(operands[0], op.operand_types[0])
    if bool(condition.all()):
        return
    row, *lane = (~condition).nonzero()[0].tolist()
    where = f"program {_place(run, row)}" + (f", element {_index(lane)}" if lane else "")
    message = str(op.attributes.get("message") or "its condition is false")
    raise AssertFailed(f"tl.device_assert failed in {where}: {message}")


@operation("tt.print")
def print_(op: Operation, operands: Operands, run: Run) -> None:
    """Print a line for each element of each program, as Triton does on a GPU."""
    printed = run.launch.printed
    prefix = str(op.attributes["prefix"])
    signs = op.attributes.get("isSigned", ())
    if not operands:
        for row in range(run.count):
            printed.add(f"pid {_place(run, row)}{prefix}")
        return
    for i, (value, type_) in enumerate(zip(operands, op.operand_types, strict=True)):
        whole = expanded(value, type_).expand(run.count, *(type_.shape or ()))
        if isinstance(signs, tuple) and i < len(signs) and not signs[i]:
            whole = _unsigned(whole)
        name = f"{prefix}(operand {i}) " if len(operands) > 1 else prefix
        digits = 2 * value.element_size() if op.attributes.get("hex") else 0
        _print_elements(whole, name, digits, run)


def _print_elements(whole: Tensor, name: str, digits: int, run: Run) -> None:
    """Print a line for each element: with so many hexadecimal digits, or 0 for a decimal."""
    shape = whole.shape[1:]
    flat = whole.reshape(-1)
    shown = flat[: run.launch.printed.free]
    for i, number in enumerate(shown.tolist()):
        row, lane = divmod(i, math.prod(shape))
        place = f"idx {_index(map(int, np.unravel_index(lane, shape)))}"
        text = f"0x{int(number) % 16**digits:0{digits}x}" if digits else f"{number}"
        run.launch.printed.add(f"pid {_place(run, row)} {place}{name}{text}")
    run.launch.printed.leave_out(flat.numel() - shown.numel())


def _unsigned(value: Tensor) -> Tensor:
    """Return integers as unsigned ones, in int64; floats and i64 as they are."""
    whole = not value.dtype.is_floating_point and value.dtype != torch.bool
    return integers.widened(value) if whole else value


def _place(run: Run, row: int) -> str:
    """Return the ids of the program in a row, such as (3, 0, 0)."""
    x, y, _ = run.launch.grid
    number = int(run.programs[row])
    return f"({number % x}, {number // x % y}, {number // (x * y)})"


def _index(lane: Iterable[int]) -> str:
    return "(" + ", ".join(map(str, lane)) + ")"
