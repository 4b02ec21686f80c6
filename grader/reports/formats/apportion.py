"""Whole numbers in proportion to others, by largest remainder: their sum is exact.

The method is Hamilton's of dividing seats. Each gets the whole part of its quota, and the rest goes
one by one to the largest fractions.
"""

from __future__ import annotations

from collections.abc import Sequence


def apportion(shares: Sequence[int], total: int, caps: Sequence[int] | None = None) -> list[int]:
    """Divide `total` in proportion to `shares`, none above its cap.

    Raises ValueError if the caps are too small together, or if all shares are 0 and `total` is not.
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
        raise ValueError("the caps are too small together")
    while left:
        for i in order:
            if left and parts[i] < most[i]:
                parts[i] += 1
                left -= 1
    return parts


def scaled(points: Sequence[int], most: Sequence[int], out_of: int) -> tuple[list[int], list[int]]:
    """Return points and maximum points, scaled until the maximum points add up to `out_of`.

    The sum is rounded down: only full marks become full marks. No part exceeds its own maximum.
    """
    if not sum(most):
        return [0] * len(points), [0] * len(most)
    new_most = apportion(most, out_of)
    return apportion(points, sum(points) * out_of // sum(most), new_most), new_most
