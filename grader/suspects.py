"""Which mistake an answer with gaps looks like, as a question to the learner.

A launch is known from a worker's own record: good enough to ask, and never to judge by.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.wire import LaunchRef


def of_gaps(name: str, missing: Tensor, launches: Sequence[LaunchRef]) -> str | None:
    """A question that fits where the unwritten elements of an output lie, and the one launch.

    None where no known mistake leaves exactly these: a wrong lead costs more than none.
    """
    if len(launches) != 1 or not missing.any():
        return None
    if missing.ndim == 1:
        return _along_a_line(name, missing, launches[0])
    if missing.ndim == 2:
        return _in_a_table(name, missing, launches[0])
    return None


def _along_a_line(name: str, missing: Tensor, launch: LaunchRef) -> str | None:
    (blocks, down, _), (threads, _, _) = launch.grid, launch.block
    reached = _reached(missing)
    if reached is None or down > 1:
        return None
    first = f"first {reached:,} are" if reached > 1 else "first one is"
    what = f"Of the {len(missing):,} elements of {name} only the {first} written"
    if reached == blocks * threads:
        return (
            f"{what}: as many as the launch has threads. Does the number of blocks round up? Or "
            "should each thread go on to further elements?"
        )
    if reached == blocks:
        return f"{what}: as many as the launch has blocks. Is a block missing?"
    return None


def _in_a_table(name: str, missing: Tensor, launch: LaunchRef) -> str | None:
    """x is the column by custom, for neighbouring threads should have neighbouring elements."""
    rows, columns = missing.shape
    (across, down, _), (wide, high, _) = launch.grid, launch.block
    x, y = across * wide, down * high
    have = f"The launch has {x:,} threads in x direction and {y:,} in y direction"
    if _only(missing, x, y) and columns <= x and rows <= y:
        return (
            f"{have}, enough for the {_extent(missing)} of {name} where x is the column and y the "
            "row. Are x and y swapped in the kernel?"
        )
    if _only(missing, y, x):
        if down * wide >= columns and across * high >= rows:
            return (
                f"{have}, and {name} is {_extent(missing)}: with the two numbers of blocks "
                "exchanged there would be enough. Are they swapped?"
            )
        return (
            f"{have}, and {name} is {_extent(missing)}, where x is the column and y the row. Does "
            "the number of blocks round up in both directions? Or should each thread go on to "
            "further elements?"
        )
    swapped = "" if across == down else " Or are the two swapped?"
    for axis, noun in enumerate(("row", "column")):
        reached = _reached(missing.all(dim=1 - axis))
        if reached and reached % max(wide, high) == 0 and _same_along(missing, axis):
            return (
                f"{name} lacks everything from {noun} {reached:,} on, where a block may begin. The "
                f"launch has {across:,} × {down:,} blocks: does the number round up in both "
                f"directions?{swapped}"
            )
    return None


def _reached(missing: Tensor) -> int | None:
    """How many elements come before the missing ones, if all that follow are missing, too."""
    reached = int((~missing).sum())
    return reached if 0 < reached < len(missing) and bool(missing[reached:].all()) else None


def _only(missing: Tensor, rows: int, columns: int) -> bool:
    """Whether exactly these first rows and columns were written."""
    expected = torch.ones_like(missing)
    expected[:rows, :columns] = False
    return bool(torch.equal(missing, expected))


def _same_along(missing: Tensor, axis: int) -> bool:
    """Whether a row (axis 0), or a column (axis 1), lacks all of its elements or none."""
    whole = missing.all(dim=1 - axis, keepdim=True)
    return bool((missing == whole).all())


def _extent(table: Tensor) -> str:
    rows, columns = table.shape
    return f"{rows:,} × {columns:,} elements"
