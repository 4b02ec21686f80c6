"""One graded kernel, as notebooks and programs see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.model import Result, Status, Trace


@dataclass(frozen=True, repr=False)
class Checked:
    """A result with the text that was graded, and the picture of the failing case if one was drawn.

    `result` is the record `grader/result/v1`. `following` names the exercise after this one,
    and `lesson` the page that explains this one.
    Notebooks show it as HTML, `print` as `grader check` does.
    """

    result: Result
    source: str
    picture: Trace | None = None
    following: str | None = None
    lesson: str = ""

    @property
    def passed(self) -> bool:
        return self.result.status is Status.PASS

    @property
    def points(self) -> int:
        return self.result.points

    @property
    def share(self) -> float | None:
        """The share of what speed is compared with; None where speed was not measured."""
        return next((step.speed.share for step in self.result.steps if step.speed), None)

    def __repr__(self) -> str:
        one = self.result
        return f"<{one.exercise}: {one.status}, {one.points} of {one.max_points} points>"

    def __str__(self) -> str:
        from grader.reports import terminal, trace_terminal

        drawn = trace_terminal.drawing(self.picture, brief=True) if self.picture else None
        return terminal.check_report(
            self.result, following=self.following, picture=drawn, lesson=self.lesson
        ).plain

    def _repr_html_(self) -> str:
        from grader.reports import report_cell

        return report_cell.cell(self.result, self.picture, self.following, self.lesson)

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(str(self))
