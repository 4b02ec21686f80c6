"""A student's total: the sum of points, or shares of exercises by their weights.

If a cell has no points, there is no total: nobody gets a zero for a fault of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from grader.classroom.policy.records import FinalCell
from grader.classroom.policy.settings import GradingSettings, Group

Total = tuple[Fraction | None, Fraction, str]  # of the student, the most, why there is none


def total(cells: Sequence[FinalCell], settings: GradingSettings) -> Total:
    """Return the total of a student's cells, the most that it can be, and why there is none."""
    counting = [cell for cell in cells if cell.counts]
    ungraded = [cell.exercise for cell in counting if cell.final is None]
    if settings.groups:
        reached, most = _weighted(counting, settings)
    else:
        reached = sum((cell.final or Fraction(0) for cell in counting), Fraction(0))
        most = Fraction(sum(cell.max_points for cell in counting))
    if ungraded:
        return None, most, f"no total: {', '.join(ungraded)} {_was(ungraded)} not graded"
    return reached, most, ""


def _was(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _weighted(cells: Sequence[FinalCell], settings: GradingSettings) -> tuple[Fraction, Fraction]:
    """Return points out of `out_of`; the weights of groups without a cell here count nowhere."""
    by_name = {cell.exercise: cell for cell in cells if cell.max_points}
    reached = weights = Fraction(0)
    for group in settings.groups:
        own = [by_name[name] for name in group.exercises if name in by_name]
        if own:
            reached += group.weight * _share(own, group)
            weights += group.weight
    if not weights:
        return Fraction(0), Fraction(0)
    return settings.out_of * reached / weights, Fraction(settings.out_of)


def _share(cells: Sequence[FinalCell], group: Group) -> Fraction:
    """Return the share of the group's points; of `best`, the mean of the best exercises' shares."""
    points = [cell.final or Fraction(0) for cell in cells]
    if group.best is None:
        return sum(points, Fraction(0)) / sum(cell.max_points for cell in cells)
    pairs = zip(points, cells, strict=True)
    shares = sorted((of / cell.max_points for of, cell in pairs), reverse=True)[: group.best]
    return sum(shares, Fraction(0)) / len(shares)
