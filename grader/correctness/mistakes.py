"""Recognize a likely mistake in a wrong output, and ask the learner about it.

The threads' accesses come from the worker's own record: good enough for a question, and never used
in the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from grader.correctness.dtypes import widened
from grader.model import FROM_END, LaunchRef, Traced, index_of

READ, WRITE = 0, 1  # kinds of accesses in `Traced`; the third kind reads and writes
FEWEST = 3  # wrong elements that hold a neighbour's value; fewer may do so by chance


def ask_about_indices(
    traced: Traced, wrong: Mapping[str, Tensor], source: Sequence[str]
) -> str | None:
    """Ask about an index below 0, which counts from the end.

    `wrong` marks the wrong elements of each output, and `source` is the kernel file, line by line.
    Return None if no such index can have led to a wrong element.
    """
    numbers = suspects(traced, wrong)
    if not numbers:
        return None
    first = traced.accesses[(numbers & -numbers).bit_length() - 1]
    *_, number, place, kind, line, _ = first
    used = traced.arrays[number]
    index = ", ".join(map(str, index_of(place, used.shape)))
    verb = ("reads", "writes", "updates")[kind]
    known = 0 < line <= len(source)
    where = f"Line {line} ({source[line - 1].strip()})" if known else "The kernel"
    return (
        f"{where} uses an index below 0, which counts from the end: it {verb} "
        f"{used.name}[{index}]. Is an `if` missing there, or wrong, or a sign?"
    )


def suspects(traced: Traced, wrong: Mapping[str, Tensor]) -> int:
    """Collect the accesses by an index below 0 that may have led to a wrong element.

    Bit n of the result stands for access n. `wrong` marks the wrong elements of each output. A
    value that a thread writes may depend on all that it read before.
    """
    threads: dict[tuple[int, int, int], int] = {}
    elements: dict[tuple[int, int, int], int] = {}  # by array, element and, if it is shared, block
    for number, row in enumerate(traced.accesses):
        launch, _, block, thread, array, element, kind, _, fault = row
        own = launch, block, thread
        where = array, element, block if traced.arrays[array].space == "shared" else -1
        known = threads.get(own, 0) | (fault == FROM_END) << number
        if kind != WRITE:
            known |= elements.get(where, 0)
        threads[own] = known
        if kind != READ:
            elements[where] = known
    marked = {name: each.flatten() for name, each in wrong.items()}
    accesses = 0
    for (array, element, _), numbers in elements.items():
        used = traced.arrays[array]
        bad = marked.get(used.name) if used.space == "argument" else None
        if numbers and bad is not None and 0 <= element < len(bad) and bad[element]:
            accesses |= numbers
    return accesses


def ask_about_values(
    name: str,
    got: Tensor,
    answer: Tensor,
    is_right: Callable[[Tensor], Tensor],
    launches: Sequence[LaunchRef],
) -> str | None:
    """Ask about a mistake that fits the wrong elements of an output and the only launch.

    `is_right` marks the acceptable elements of a tensor like `got`. Return None if no known mistake
    makes exactly these elements wrong.
    """
    if bool(is_right((-widened(got)).to(got.dtype)).all()):
        return (
            f"Each element of {name} has the right size and the wrong sign: is a minus missing, "
            "one too many, or are its two sides swapped?"
        )
    right = is_right(got)
    if got.ndim == 1 and int((~right).sum()) >= FEWEST:
        for by, where in ((1, "after"), (-1, "before")):
            if bool(is_right(_moved(got, answer, by)).all()):
                return (
                    f"Each element of {name} holds what the one {where} it should hold: is an "
                    "index off by one?"
                )
    if len(launches) == 1:
        return _ask_about_first_block(name, right, launches[0])
    return None


def _moved(got: Tensor, answer: Tensor, by: int) -> Tensor:
    """Shift each element by `by` places, and fill the place at the end with the right value."""
    moved = got.roll(by)
    moved[0 if by > 0 else -1] = answer[0 if by > 0 else -1]
    return moved


def _ask_about_first_block(name: str, right: Tensor, launch: LaunchRef) -> str | None:
    (across, down, _), (wide, high, _) = launch.grid, launch.block
    if right.ndim == 1 and across > 1 and _length_before_gap(~right) == wide:
        first, noun = wide, "element"
    elif right.ndim == 2 and across > 1 and _first_right(right, 1) == wide:
        first, noun = wide, "column"
    elif right.ndim == 2 and down > 1 and _first_right(right, 0) == high:
        first, noun = high, "row"
    elif right.ndim and down == 1 < across == len(right) and _first_right(right, 0) == 1:
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


def _first_right(right: Tensor, axis: int) -> int | None:
    """Count the first rows (axis 0) or columns (axis 1) that are right, if no other element is."""
    along = right.movedim(axis, 0).flatten(1) if right.ndim > 1 else right.unsqueeze(1)
    whole = along.all(dim=1)
    return _length_before_gap(~whole) if bool((along == whole.unsqueeze(1)).all()) else None


def ask_about_gaps(name: str, missing: Tensor, traced: Traced) -> str | None:
    """Ask about a mistake that fits the unwritten elements of an output and the only launch.

    Return None if no known mistake leaves out exactly these: a wrong hint is worse than none.
    """
    if len(traced.launches) != 1 or not missing.any():
        return None
    if missing.all() and not _is_written(name, traced):
        return (
            f"No thread writes to {name}. `{name}[i] = …` writes an element; `{name} = …` only "
            "gives the name to something else."
        )
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
    reached = _length_before_gap(missing)
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
        if _only_first_written(missing, 1, columns):
            return _ask_about_block_number("written", name, 2)
        if _only_first_written(missing, rows, wide):
            return (
                f"Of each row of {name} only the first {wide:,} elements are written: as many as a "
                "block has threads. Should each thread go on to further elements?"
            )
        return None
    if _only_first_written(missing, x, y) and columns <= x and rows <= y:
        return (
            f"{have}, enough for the {_extent(missing)} of {name} where x is the column and y the "
            "row. Are x and y swapped in the kernel, or does an `if` stop at a fixed number?"
        )
    if _only_first_written(missing, y, x):
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
        reached = _length_before_gap(missing.all(dim=1 - axis))
        if reached and reached % max(wide, high) == 0 and _all_or_none(missing, axis):
            return (
                f"{name} lacks everything from {noun} {reached:,} on, where a block may begin. The "
                f"launch has {across:,} × {down:,} blocks: does the number round up in both "
                f"directions?{swapped}"
            )
    return None


def _length_before_gap(missing: Tensor) -> int | None:
    """Count the elements before the first missing one, if all that follow are missing, too."""
    reached = int((~missing).sum())
    return reached if 0 < reached < len(missing) and bool(missing[reached:].all()) else None


def _only_first_written(missing: Tensor, rows: int, columns: int) -> bool:
    expected = torch.ones_like(missing)
    expected[:rows, :columns] = False
    return bool(torch.equal(missing, expected))


def _all_or_none(missing: Tensor, axis: int) -> bool:
    """Say whether each row (axis 0) or column (axis 1) lacks all of its elements or none."""
    whole = missing.all(dim=1 - axis, keepdim=True)
    return bool((missing == whole).all())


def _extent(table: Tensor) -> str:
    rows, columns = table.shape
    return f"{rows:,} × {columns:,} elements"
