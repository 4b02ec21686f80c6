"""Final grades: for each student of a class and each exercise, every step from points to grade.

Points are fractions, so that no rule depends on the order in which numbers are rounded. `text_of`
writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

DECIMALS = 2  # of points that are shown


@dataclass(frozen=True)
class FinalCell:
    """One student's grade at one exercise.

    `points` are those that the class run gave, None if it gave none: such a cell is never a zero.
    `final` is `points` less `deduction` plus `change`, unless the instructor set it. `reason`
    explains the deduction, or why there are no points.
    """

    exercise: str
    standing: str  # as in the class run: graded, not_started, missing, unreadable, not_graded
    points: int | None
    max_points: int
    final: Fraction | None
    counts: bool = True  # in the total
    late: int = 0  # seconds after the deadline; 0 in time, and where no time is known
    deduction: Fraction = Fraction(0)  # points, never negative
    change: Fraction = Fraction(0)  # points that the instructor added, or took
    reason: str = ""
    comment: str = ""  # the instructor's
    status: str = ""  # that of the result, such as `fail`
    attempt: str = ""  # its id


@dataclass(frozen=True)
class FinalRow:
    """One student's grades, in the order of the class run's exercises.

    `total` is None if a cell that counts has no points, and `why` says which. It is out of `most`.
    """

    student: str
    cells: tuple[FinalCell, ...]
    total: Fraction | None
    most: Fraction
    why: str = ""
    name: str = ""
    section: str = ""
    group: str = ""
    submitted_at: str = ""
    deadline: str = ""  # the course's, or this student's extension: UTC, ISO 8601
    comment: str = ""  # the instructor's, on all of it
    notes: tuple[str, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def deductions(self) -> tuple[str, ...]:
        """A sentence for each cell from which points were taken, or to which points were added."""
        return tuple(
            f"{cell.exercise}: {words}" for cell in self.cells if (words := explained(cell))
        )

    @property
    def reason(self) -> str:
        """The one reason why no exercise has work or a result, such as a damaged archive; or none.

        Lists give it once, and not at each of many exercises.
        """
        reasons = {cell.reason for cell in self.cells if cell.standing != "graded"}
        of_all = all(cell.standing != "graded" for cell in self.cells)
        return reasons.pop() if of_all and len(reasons) == 1 < len(self.cells) else ""


@dataclass(frozen=True)
class Manual:
    """An instructor's line about one student: points, a change of points, or a comment alone.

    Without `exercise` it is a comment on all of the student's work.
    """

    student: str
    exercise: str = ""
    points: Fraction | None = None
    change: Fraction = Fraction(0)
    comment: str = ""
    line: int = 0  # of its file


def explained(cell: FinalCell) -> str:
    """Return what was taken from a cell's points, or added, and why; empty where nothing was."""
    parts = []
    if cell.deduction:
        parts.append(f"{_change(-cell.deduction)}: {cell.reason}")
    if cell.change:
        parts.append(f"{_change(cell.change)} by the instructor")
    if cell.comment:
        parts.append(cell.comment)
    return "; ".join(parts)


def remark(cell: FinalCell, row: FinalRow) -> str:
    """Return what there is to say about a cell: why it has these points, and what changed them.

    The row's own reason is none of it.
    """
    said = explained(cell)
    if cell.reason == row.reason:
        return said
    told_already = cell.reason and cell.reason in said
    return said if told_already else "; ".join(filter(None, (cell.reason, said)))


def _change(points: Fraction) -> str:
    word = "point" if abs(points) == 1 else "points"
    return f"{'+' if points > 0 else ''}{text_of(points)} {word}"


def text_of(points: Fraction | None) -> str:
    """Write points with at most DECIMALS decimals, rounded half up; nothing for None."""
    if points is None:
        return ""
    scale: int = 10**DECIMALS
    rounded = Fraction((abs(points) * scale + Fraction(1, 2)).__floor__(), scale)
    text = f"{float(rounded):.{DECIMALS}f}".rstrip("0").rstrip(".")
    return f"-{text}" if points < 0 and rounded else text
