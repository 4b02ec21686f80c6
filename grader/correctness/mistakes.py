"""Which mistake a wrong answer looks like, as a question to the learner.

What threads did is known from a worker's own record: good enough to ask, and never to judge by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from grader.correctness.dtypes import widened
from grader.model import FROM_END, LaunchRef, Traced, index_of

READ, WRITE = 0, 1  # kinds of accesses in `Traced`; the third both reads and writes
FEWEST = 3  # wrong elements that hold a neighbour's value: fewer may by chance


def of_indices(traced: Traced, wrong: Mapping[str, Tensor], source: Sequence[str]) -> str | None:
    """A question about an index below 0, which Python and a GPU take to count from the end.

    `wrong` marks the wrong elements of each output, and `source` is the kernel file, line by line.
    None where no such index can have led to what one of these holds.
    """
    numbers = blamed(traced, wrong)
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


def blamed(traced: Traced, wrong: Mapping[str, Tensor]) -> int:
    """Which accesses by an index below 0 may have led to a wrong element: bit n is the n-th's.

    `wrong` marks the wrong elements of each output. Whatever a thread read before it writes may be
    in what it writes.
    """
    threads: dict[tuple[int, int, int], int] = {}
    elements: dict[tuple[int, int, int], int] = {}  # by array, element and, if it is shared, block
    for number, row in enumerate(traced.accesses):
        launch, _, block, thread, array, element, kind, _, fault = row
        who = launch, block, thread
        where = array, element, block if traced.arrays[array].space == "shared" else -1
        known = threads.get(who, 0) | (fault == FROM_END) << number
        if kind != WRITE:
            known |= elements.get(where, 0)
        threads[who] = known
        if kind != READ:
            elements[where] = known
    marked = {name: each.flatten() for name, each in wrong.items()}
    found = 0
    for (array, element, _), numbers in elements.items():
        used = traced.arrays[array]
        bad = marked.get(used.name) if used.space == "argument" else None
        if numbers and bad is not None and 0 <= element < len(bad) and bad[element]:
            found |= numbers
    return found


def of_values(
    name: str,
    got: Tensor,
    answer: Tensor,
    is_right: Callable[[Tensor], Tensor],
    launches: Sequence[LaunchRef],
) -> str | None:
    """A question that fits which elements of an output are wrong, and how, and the one launch.

    `is_right` tells of each element of a tensor like `got`, float64 as `answer`, whether it is an
    acceptable answer. None where no known mistake makes exactly these wrong.
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
        return _of_first_block(name, right, launches[0])
    return None


def _moved(got: Tensor, answer: Tensor, by: int) -> Tensor:
    """`got` with each element `by` places further on, and the right one where none comes."""
    moved = got.roll(by)
    moved[0 if by > 0 else -1] = answer[0 if by > 0 else -1]
    return moved


def _of_first_block(name: str, right: Tensor, launch: LaunchRef) -> str | None:
    """A question where exactly those elements are right that the first block has."""
    (across, down, _), (wide, high, _) = launch.grid, launch.block
    if right.ndim == 1 and across > 1 and _reached(~right) == wide:
        first, noun = wide, "element"
    elif right.ndim == 2 and across > 1 and _only_along(right, 1) == wide:
        first, noun = wide, "column"
    elif right.ndim == 2 and down > 1 and _only_along(right, 0) == high:
        first, noun = high, "row"
    elif right.ndim and down == 1 < across == len(right) and _only_along(right, 0) == 1:
        return _of_own("right", name, right.ndim)
    else:
        return None
    which = f"the first {first:,} {noun}s are" if first > 1 else f"the first {noun} is"
    return (
        f"Of {name} exactly {which} right, as far as the first block reaches: does the kernel mix "
        "up the place in the block and that in the whole array?"
    )


def _of_own(what: str, name: str, axes: int) -> str:
    """A question where there is a block for each row, or element, and only the first is well."""
    noun = "row" if axes > 1 else "element"
    return (
        f"Of {name} only {noun} 0 is {what}, and the launch has a block for each {noun}: does "
        "every block use its own number, cuda.blockIdx.x, and every thread that in its block, "
        "cuda.threadIdx.x?"
    )


def _only_along(right: Tensor, axis: int) -> int | None:
    """How many first rows (axis 0) or columns (axis 1) are right, if no other element is."""
    along = right.movedim(axis, 0).flatten(1) if right.ndim > 1 else right.unsqueeze(1)
    whole = along.all(dim=1)
    return _reached(~whole) if bool((along == whole.unsqueeze(1)).all()) else None


def of_gaps(name: str, missing: Tensor, traced: Traced) -> str | None:
    """A question that fits where the unwritten elements of an output lie, and the one launch.

    None where no known mistake leaves exactly these: a wrong lead costs more than none.
    """
    if len(traced.launches) != 1 or not missing.any():
        return None
    if missing.all() and not _written(name, traced):
        return (
            f"No thread writes to {name}: an assignment such as `{name}[i] = …` would, and "
            f"`{name} = …` only gives the name to something else."
        )
    if missing.ndim == 1:
        return _along_a_line(name, missing, traced.launches[0])
    if missing.ndim == 2:
        return _in_a_table(name, missing, traced.launches[0])
    return None


def _written(name: str, traced: Traced) -> bool:
    """Whether any thread wrote to the argument of this name, as far as is known."""
    return bool(traced.cut) or any(
        kind and (traced.arrays[array].name, traced.arrays[array].space) == (name, "argument")
        for _, _, _, _, array, _, kind, _, _ in traced.accesses
    )


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
    if reached == 1 < len(missing) == blocks:
        return _of_own("written", name, missing.ndim)
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


def _in_a_table(name: str, missing: Tensor, launch: LaunchRef) -> str | None:
    """x is the column by custom, for neighbouring threads should have neighbouring elements."""
    rows, columns = missing.shape
    (across, down, _), (wide, high, _) = launch.grid, launch.block
    x, y = across * wide, down * high
    have = f"The launch has {x:,} threads in x direction and {y:,} in y direction"
    if down == high == 1 < across == rows:
        if _only(missing, 1, columns):
            return _of_own("written", name, 2)
        if _only(missing, rows, wide):
            return (
                f"Of each row of {name} only the first {wide:,} elements are written: as many as a "
                "block has threads. Should each thread go on to further elements?"
            )
        return None
    if _only(missing, x, y) and columns <= x and rows <= y:
        return (
            f"{have}, enough for the {_extent(missing)} of {name} where x is the column and y the "
            "row. Are x and y swapped in the kernel, or does an `if` stop at a fixed number?"
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
    if columns <= x and rows <= y:
        return None
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
