"""The accesses of single threads on which a wrong element may depend.

They come from the worker's own record: good enough for a question, and never used in the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from grader.model import FROM_END, Traced

READ, WRITE = 0, 1  # kinds of accesses in `Traced`; the third kind reads and writes


def first_suspect(traced: Traced, wrong: Mapping[str, Tensor]) -> tuple[int, ...] | None:
    """Return the first access by an index below 0 that may have led to a wrong element."""
    numbers = suspects(traced, wrong)
    return traced.accesses[(numbers & -numbers).bit_length() - 1] if numbers else None


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
