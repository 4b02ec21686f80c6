"""Points by student and exercise, for the systems that take points alone: from attempts or grades.

Work that could not be graded has no points here, and makes no total: nobody gets a zero for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.classroom import FinalRow, identifiers
from grader.model import Attempt, login_of
from grader.reports.formats import facts

Graded = Sequence[Attempt] | Sequence[FinalRow]
Points = tuple[Fraction, Fraction]  # earned, and possible


@dataclass(frozen=True)
class Scores:
    """Points of a class, by login.

    `aliases` lead from `login_of` a student's names to the login: the login itself, and further
    names, such as the student number in a roster.
    """

    exercises: frozenset[str]
    points: Mapping[str, Mapping[str, Points]]
    totals: Mapping[str, Points]
    aliases: Mapping[str, str]

    def student_of(self, name: str) -> str | None:
        """Return the login of the student with this name elsewhere; None if nobody here has it."""
        return self.aliases.get(login_of(name))

    def with_total(self, student: str, total: str) -> dict[str, Points]:
        """Return a student's points by exercise, and the sum as `total`, if that is named."""
        known = {total: self.totals[student]} if total and student in self.totals else {}
        return {**self.points[student], **known}


def scores(graded: Graded) -> Scores:
    """Return the points of a class; of several attempts at an exercise the last graded one counts.

    The total of attempts is out of all exercises that any student tried.
    """
    rows = [one for one in graded if isinstance(one, FinalRow)]
    attempts = [one for one in graded if isinstance(one, Attempt)]
    return _of_rows(rows) if rows else _of_attempts(attempts)


def _of_rows(rows: Sequence[FinalRow]) -> Scores:
    points = {
        row.student: {
            cell.exercise: (cell.final, Fraction(cell.max_points))
            for cell in row.cells
            if cell.final is not None
        }
        for row in rows
    }
    named = {(login_of(name), row.student) for row in rows for name in identifiers(row.ids)}
    times = Counter(name for name, _ in named)
    further = {name: login for name, login in named if name and times[name] == 1}
    return Scores(
        frozenset(cell.exercise for row in rows for cell in row.cells),
        points,
        {row.student: (row.total, row.most) for row in rows if row.total is not None},
        further | {login_of(row.student): row.student for row in rows},
    )


def _of_attempts(attempts: Sequence[Attempt]) -> Scores:
    points, best = facts.points_of(attempts)
    most = Fraction(sum(best.values()))
    sums = {student: facts.sum_or_none(mine.values()) for student, mine in points.items()}
    return Scores(
        frozenset(best),
        {
            student: {
                name: (Fraction(of), Fraction(best[name]))
                for name, of in mine.items()
                if of is not None
            }
            for student, mine in points.items()
        },
        {student: (Fraction(of), most) for student, of in sums.items() if of is not None},
        {login_of(student): student for student in points},
    )
