"""Questions about elements that no thread wrote, in a call that launched one kernel once."""

from __future__ import annotations

from torch import Tensor

from grader.correctness.masks import all_or_none, first_right, length_before_gap, only_first_right
from grader.model import LaunchRef, Traced

NO_STORE = "No thread writes to {name}."
NAME_ONLY = (
    " `{name}[i] = …` writes an element; `{name} = …` only gives the name to something else."
)


def ask_about_gaps(name: str, missing: Tensor, traced: Traced) -> str | None:
    """Ask about a mistake that fits the unwritten elements of an output and the only launch.

    Return None if no known mistake leaves out exactly these: a wrong hint is worse than none.
    """
    if len(traced.launches) != 1 or not missing.any():
        return None
    if missing.all() and not _is_written(name, traced):
        return NO_STORE.format(name=name) + NAME_ONLY.format(name=name)
    if missing.ndim == 1:
        return _ask_about_vector(name, missing, traced.launches[0])
    if missing.ndim == 2:
        return _ask_about_matrix(name, missing, traced.launches[0])
    return None


def _is_written(name: str, traced: Traced) -> bool:
    # A record that was cut may lack the write.
    return bool(traced.cut) or any(
        kind and (traced.arrays[array].name, traced.arrays[array].space) == (name, "argument")
        for _, _, _, _, array, _, kind, _, _ in traced.accesses
    )


def _ask_about_vector(name: str, missing: Tensor, launch: LaunchRef) -> str | None:
    (blocks, down, _), (threads, _, _) = launch.grid, launch.block
    reached = length_before_gap(missing)
    if reached is None or down > 1:
        return None
    first = f"first {reached:,} are" if reached > 1 else "first one is"
    what = f"Of the {len(missing):,} elements of {name} only the {first} written"
    if reached == blocks * threads:
        return (
            f"{what}: as many as the launch has threads. Does the number of blocks round up? Or "
            "should each thread go on to further elements?"
        )
    if reached == 1 < len(missing) == blocks:
        return _ask_about_block_number("written", name, missing.ndim)
    if threads <= len(missing) <= blocks * threads:
        return (
            f"{what}, and the launch has {blocks * threads:,} threads: do several of them use one "
            "index, or does an `if` stop too early?"
        )
    if reached == blocks == len(missing) - 1:
        return (
            f"{what}: as many as the launch has blocks. Is a block missing, or do all threads of a "
            "block use one index?"
        )
    return None


def _ask_about_matrix(name: str, missing: Tensor, launch: LaunchRef) -> str | None:
    # By custom x is the column, because neighbouring threads should use neighbouring elements.
    rows, columns = missing.shape
    (across, down, _), (wide, high, _) = launch.grid, launch.block
    x, y = across * wide, down * high
    have = f"The launch has {x:,} threads in x direction and {y:,} in y direction"
    if down == high == 1 < across == rows:
        if only_first_right(missing, 1, columns):
            return _ask_about_block_number("written", name, 2)
        if only_first_right(missing, rows, wide):
            return (
                f"Of each row of {name} only the first {wide:,} elements are written: as many as a "
                "block has threads. Should each thread go on to further elements?"
            )
        return None
    if only_first_right(missing, x, y) and columns <= x and rows <= y:
        return (
            f"{have}, enough for the {_extent(missing)} of {name} where x is the column and y the "
            "row. Are x and y swapped in the kernel, or does an `if` stop at a fixed number?"
        )
    if only_first_right(missing, y, x):
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
    if columns <= x and rows <= y:
        return None
    swapped = "" if across == down else " Or are the two swapped?"
    for axis, noun in enumerate(("row", "column")):
        reached = length_before_gap(missing.all(dim=1 - axis))
        if reached and reached % max(wide, high) == 0 and all_or_none(missing, axis):
            return (
                f"{name} lacks everything from {noun} {reached:,} on, where a block may begin. The "
                f"launch has {across:,} × {down:,} blocks: does the number round up in both "
                f"directions?{swapped}"
            )
    return None


def _extent(table: Tensor) -> str:
    rows, columns = table.shape
    return f"{rows:,} × {columns:,} elements"


def ask_about_first_block(name: str, right: Tensor, launch: LaunchRef) -> str | None:
    (across, down, _), (wide, high, _) = launch.grid, launch.block
    if right.ndim == 1 and across > 1 and length_before_gap(~right) == wide:
        first, noun = wide, "element"
    elif right.ndim == 2 and across > 1 and first_right(right, 1) == wide:
        first, noun = wide, "column"
    elif right.ndim == 2 and down > 1 and first_right(right, 0) == high:
        first, noun = high, "row"
    elif right.ndim and down == 1 < across == len(right) and first_right(right, 0) == 1:
        return _ask_about_block_number("right", name, right.ndim)
    else:
        return None
    which = f"the first {first:,} {noun}s are" if first > 1 else f"the first {noun} is"
    return (
        f"Of {name} exactly {which} right, as far as the first block reaches: does the kernel mix "
        "up the index in the block and the index in the whole array?"
    )


def _ask_about_block_number(what: str, name: str, axes: int) -> str:
    noun = "row" if axes > 1 else "element"
    return (
        f"Of {name} only {noun} 0 is {what}, and the launch has a block for each {noun}: does "
        "every block use its own number, cuda.blockIdx.x, and every thread its own in the block, "
        "cuda.threadIdx.x?"
    )
