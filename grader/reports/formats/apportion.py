"""Whole numbers in proportion to others, by largest remainder, so that their sum is exact.

The method is Hamilton's of dividing seats: each gets the whole part of its quota, and what is left
goes one by one to the largest fractions.
"""

from __future__ import annotations

from collections.abc import Sequence


def apportion(shares: Sequence[int], total: int, caps: Sequence[int] | None = None) -> list[int]:
    """`total` divided in proportion to `shares`, none above its cap.

    Raises ValueError where the caps, or shares that are all 0, leave no room for it.
    """
    whole = sum(shares)
    if not whole:
        if total:
            raise ValueError("nothing to divide by")
        return [0] * len(shares)
    most = [total] * len(shares) if caps is None else list(caps)
    parts = [min(share * total // whole, cap) for share, cap in zip(shares, most, strict=True)]
    # Fractions as numerators over `whole`: exact, so that ties are ties.
    order = sorted(range(len(shares)), key=lambda i: (-(shares[i] * total % whole), i))
    left = total - sum(parts)
    if left > sum(most) - sum(parts):
        raise ValueError("the caps leave no room")
    while left:
        for i in order:
            if left and parts[i] < most[i]:
                parts[i] += 1
                left -= 1
    return parts


def scaled(points: Sequence[int], most: Sequence[int], out_of: int) -> tuple[list[int], list[int]]:
    """Points and what could be earned, scaled so that the latter add up to `out_of`.

    The sum is rounded down, so that only full marks are full marks. No part exceeds its own most.
    """
    if not sum(most):
        return [0] * len(points), [0] * len(most)
    new_most = apportion(most, out_of)
    return apportion(points, sum(points) * out_of // sum(most), new_most), new_most
