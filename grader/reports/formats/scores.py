"""Points by student and exercise, for the systems that take points alone: from attempts or grades.

Work that could not be graded has no points here, and makes no total: nobody gets a zero for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from grader.classroom import FinalRow
from grader.model import Attempt, login_of
from grader.reports.formats import facts

Graded = Sequence[Attempt] | Sequence[FinalRow]
Points = tuple[Fraction, Fraction]  # earned, and possible


@dataclass(frozen=True)
class Scores:
    """Points of a class; students by `login_of` their login.

    `aliases` lead from further names of a student, such as a number in a roster, to the login.
    """

    exercises: frozenset[str]
    points: Mapping[str, Mapping[str, Points]]
    totals: Mapping[str, Points]
    aliases: Mapping[str, str] = field(default_factory=dict)

    def student_of(self, name: str) -> str | None:
        """Return the login of whom another system calls so; None for nobody of this class."""
        key = login_of(name)
        return key if key in self.points else self.aliases.get(key)


def scores(graded: Graded) -> Scores:
    """Return the points of a class; of several attempts at an exercise the last graded one counts.

    The total of attempts is out of all exercises that any student tried.
    """
    rows = [one for one in graded if isinstance(one, FinalRow)]
    attempts = [one for one in graded if isinstance(one, Attempt)]
    return _of_rows(rows) if rows else _of_attempts(attempts)


def _of_rows(rows: Sequence[FinalRow]) -> Scores:
    points = {
        login_of(row.student): {
            cell.exercise: (cell.final, Fraction(cell.max_points))
            for cell in row.cells
            if cell.final is not None
        }
        for row in rows
    }
    named = [(login_of(name), login_of(row.student)) for row in rows for name in row.ids.values()]
    times = Counter(name for name, _ in set(named))
    return Scores(
        frozenset(cell.exercise for row in rows for cell in row.cells),
        points,
        {login_of(row.student): (row.total, row.most) for row in rows if row.total is not None},
        {name: login for name, login in named if name and times[name] == 1},
    )


def _of_attempts(attempts: Sequence[Attempt]) -> Scores:
    points: dict[str, dict[str, int | None]] = {}
    best: dict[str, int] = {}
    for attempt in attempts:
        mine, result = points.setdefault(login_of(attempt.student), {}), attempt.result
        best[result.exercise] = max(best.get(result.exercise, 0), facts.most(result))
        if facts.graded(result):
            mine[result.exercise] = facts.earned(result)
        else:
            mine.setdefault(result.exercise, None)
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
    )
