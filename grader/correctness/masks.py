"""Shapes of masks: a first part, whole rows or columns, a rectangle."""

from __future__ import annotations

import torch
from torch import Tensor


def length_before_gap(missing: Tensor) -> int | None:
    """Count the elements before the first missing one, if all that follow are missing, too."""
    reached = int((~missing).sum())
    return reached if 0 < reached < len(missing) and bool(missing[reached:].all()) else None


def only_first_right(missing: Tensor, rows: int, columns: int) -> bool:
    """Say whether exactly the first rows and columns of a table are not missing."""
    expected = torch.ones_like(missing)
    expected[:rows, :columns] = False
    return bool(torch.equal(missing, expected))


def all_or_none(missing: Tensor, axis: int) -> bool:
    """Say whether each row (axis 0) or column (axis 1) lacks all of its elements or none."""
    whole = missing.all(dim=1 - axis, keepdim=True)
    return bool((missing == whole).all())


def first_right(right: Tensor, axis: int) -> int | None:
    """Count the first rows (axis 0) or columns (axis 1) that are right, if no other element is."""
    along = right.movedim(axis, 0).flatten(1) if right.ndim > 1 else right.unsqueeze(1)
    whole = along.all(dim=1)
    return length_before_gap(~whole) if bool((along == whole.unsqueeze(1)).all()) else None
