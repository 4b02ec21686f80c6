"""Atomic updates of elements by many lanes, as if one lane acted after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from grader.backends.triton.device.mappings import Bits, Places

# The new elements, from the old ones and the operands of as many lanes.
Combine = Callable[..., Bits]
# The elements before each lane of a chain and after the last: of the first one, and the operands.
Chain = Callable[[Bits, Bits], Bits]


def update(
    held: Bits, places: Places, *operands: Bits, combine: Combine, chain: Chain | None = None
) -> Bits:
    """Change `held` at the lanes' places, lane after lane, and return what each lane found.

    Lanes at different places act at once. Where few places have many lanes, `chain` does all the
    lanes of a place in one operation.
    """
    counts = np.bincount(places, minlength=held.size)
    if counts.max(initial=0) <= 1:
        found: Bits = held[places]
        held[places] = combine(found, *operands)
        return found
    found = np.empty(places.size, held.dtype)
    order = np.argsort(places, kind="stable")
    if chain is not None and counts.max() > held.size:
        starts = np.cumsum(counts) - counts
        for place, (start, count) in enumerate(zip(starts, counts, strict=True)):
            lanes = order[start : start + count]
            steps = chain(held[place : place + 1], operands[0][lanes])
            found[lanes], held[place] = steps[:-1], steps[-1]
        return found
    for lanes in _rounds(order, counts):
        at = places[lanes]
        found[lanes] = held[at]
        held[at] = combine(held[at], *(each[lanes] for each in operands))
    return found


def _rounds(order: Places, counts: Places) -> Iterator[Places]:
    """Yield the first lane of each place, then the second ones, and so on."""
    rank = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
    by_rank = order[np.argsort(rank, kind="stable")]
    yield from np.split(by_rank, np.cumsum(np.bincount(rank))[:-1])
